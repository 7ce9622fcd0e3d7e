/// A parameter of a statement, sent in PostgreSQL's binary format.
package enum PostgreSQLValue: Sendable {
    case null
    case bytes([UInt8])
    case text(String)
    case number(Int64)
    case flag(Bool)
    /// An array of `bytea`.
    case byteArrays([[UInt8]])

    /// The type `bytea` in pg_type.
    private static let byteaType: Int = 17

    /// Appends the value and returns its number of bytes, or nil for NULL.
    func write(to buffer: inout [UInt8]) -> Int? {
        let start = buffer.count
        switch self {
        case .null: return nil
        case .bytes(let bytes): buffer.append(contentsOf: bytes)
        case .text(let text): buffer.append(contentsOf: text.utf8)
        case .number(let number): Self.append(UInt64(bitPattern: number), byteCount: 8, to: &buffer)
        case .flag(let flag): buffer.append(flag ? 1 : 0)
        case .byteArrays(let elements):
            // The number of dimensions, whether an element is NULL, the type, and the dimension's length and first
            // index.
            for field in elements.isEmpty ? [0, 0, Self.byteaType] : [1, 0, Self.byteaType, elements.count, 1] {
                Self.append(UInt64(field), byteCount: 4, to: &buffer)
            }
            for element in elements {
                Self.append(UInt64(element.count), byteCount: 4, to: &buffer)
                buffer.append(contentsOf: element)
            }
        }
        return buffer.count - start
    }

    private static func append(_ number: UInt64, byteCount: Int, to buffer: inout [UInt8]) {
        for place in (0..<byteCount).reversed() {
            buffer.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * place)))
        }
    }
}
