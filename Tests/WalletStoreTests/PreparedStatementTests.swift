import GRDB
import PreparedSQL
import Testing

@Suite("Statements that are compiled once")
struct PreparedStatementTests {
    @Test("what is bound is what is written, however long it is and whatever was bound before")
    func binding() throws {
        try DatabaseQueue().inDatabase { db in
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
            // What is not set again stays.
            echo.bind([1, 2, 3], at: 1)
            let last = try echo.first { row in [row.bytes(0), row.bytes(1)?.prefix(1).map { $0 }] }
            #expect(last == [[1, 2, 3], [UInt8(truncatingIfNeeded: ~10)]])
        }
    }

    @Test("what was bound is the statement's own, and outlives whoever bound it")
    func outliving() throws {
        try DatabaseQueue().inDatabase { db in
            let echo = try PreparedStatement("SELECT ?1", on: db)
            for round in 0..<200 as Range<Int> {
                echo.bind((0..<500).map { UInt8(truncatingIfNeeded: $0 &* round) }, at: 1)
                // Memory of the same size, used by somebody else.
                let others = (0..<8).map { _ in [UInt8](repeating: 0xEE, count: 500) }
                let read = try echo.first { row in row.bytes(0) ?? [] }
                #expect(read == (0..<500).map { UInt8(truncatingIfNeeded: $0 &* round) })
                #expect(others.count == 8)
            }
        }
    }
}
