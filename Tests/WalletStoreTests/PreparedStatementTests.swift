import SQLiteClient
import Testing

@Suite("Prepared statements")
struct PreparedStatementTests {
    @Test("bound values are written exactly, for any length and any previous binding")
    func binding() throws {
        let db = try SQLiteDatabase()
        let echo = try PreparedStatement("SELECT ?1, ?2", on: db)
        let lengths = [0, 1, 63, 64, 65, 1000, 3, 0, 1001, 64]
        for (number, length) in lengths.enumerated() {
            let first = [UInt8](repeating: UInt8(number + 1), count: length)
            let second = Array(first.map { ~$0 }.reversed()) + [7]
            echo.bind(first, at: 1)
            echo.bind(second, at: 2)
            let read = try echo.first { row in [row.bytes(0), row.bytes(1)] }
            #expect(read == [first, second])
        }
        // A value that is not set again stays bound.
        echo.bind([1, 2, 3], at: 1)
        let last = try echo.first { row in [row.bytes(0), row.bytes(1)?.prefix(1).map { $0 }] }
        #expect(last == [[1, 2, 3], [UInt8(truncatingIfNeeded: ~10)]])
    }

    @Test("bound values are copied and outlive the caller's memory")
    func outliving() throws {
        let db = try SQLiteDatabase()
        let echo = try PreparedStatement("SELECT ?1", on: db)
        for round in 0..<200 as Range<Int> {
            echo.bind((0..<500).map { UInt8(truncatingIfNeeded: $0 &* round) }, at: 1)
            // Memory of the same size, in use for other values.
            let others = (0..<8).map { _ in [UInt8](repeating: 0xEE, count: 500) }
            let read = try echo.first { row in row.bytes(0) ?? [] }
            #expect(read == (0..<500).map { UInt8(truncatingIfNeeded: $0 &* round) })
            #expect(others.count == 8)
        }
    }
}
