internal import Vocabulary

/// A key press.
package enum Key: Hashable, Sendable {
    /// A printable ASCII character, identified by its code.
    ///
    /// A decimal digit of another script is the ASCII digit of the same value.
    case character(UInt8)
    case up
    case down
    case left
    case right
    case enter
    case tab
    case escape
    case backspace
    /// Any other key.
    ///
    /// No program uses these.
    case other

    /// Parses the first key from bytes sent by a terminal (ECMA-48, as used by xterm and similar terminals).
    ///
    /// Returns the key and its length, or nil if more bytes are needed. A lone escape is the Escape key if `isComplete`
    /// is true, which means that no more bytes followed immediately.
    static func first(in bytes: RawSpan, isComplete: Bool) -> (key: Key, length: Int)? {
        guard bytes.byteCount > 0 else { return nil }
        switch Self.byte(bytes, 0) {
        case 0x1B: return Self.sequence(bytes, isComplete: isComplete)
        case 0x0A, 0x0D: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case let byte where (0x20...0x7E).contains(byte): return (.character(byte), 1)
        case let byte where byte >= 0x80: return Self.beyondASCII(bytes, isComplete: isComplete)
        case _: return (.other, 1)
        }
    }

    /// Parses a character of two to four bytes in UTF-8.
    private static func beyondASCII(_ bytes: RawSpan, isComplete: Bool) -> (key: Key, length: Int)? {
        guard let scalar = Unicode.Scalar.decoded(at: 0, of: bytes.byteCount, { Self.byte(bytes, $0) }) else {
            return isComplete || bytes.byteCount >= 4 ? (.other, 1) : nil
        }
        let digit = scalar.decimalDigit.map { Key.character(UInt8(ascii: "0") + $0) }
        return (digit ?? .other, UTF8.width(scalar))
    }

    /// Parses a key that starts with an escape: `ESC [ … letter`, `ESC O letter`, or the Escape key.
    private static func sequence(_ bytes: RawSpan, isComplete: Bool) -> (key: Key, length: Int)? {
        guard bytes.byteCount > 1 else { return isComplete ? (.escape, 1) : nil }
        let introducer = Self.byte(bytes, 1)
        guard introducer == 0x5B || introducer == 0x4F else { return (.escape, 1) }
        for index in 2..<max(bytes.byteCount, 2) {
            let byte = Self.byte(bytes, index)
            // Skip parameters and intermediate bytes, which come before the final letter.
            if (0x20...0x3F).contains(byte) { continue }
            return (Self.arrow(byte, isPlain: index == 2), index + 1)
        }
        // The sequence is either cut off or far too long for a key.
        return isComplete || bytes.byteCount > 32 ? (.other, bytes.byteCount) : nil
    }

    private static func arrow(_ letter: UInt8, isPlain: Bool) -> Key {
        guard isPlain else { return .other }
        return switch letter {
        case 0x41: .up
        case 0x42: .down
        case 0x43: .right
        case 0x44: .left
        case 0x5A: .up
        case _: .other
        }
    }

    private static func byte(_ bytes: RawSpan, _ index: Int) -> UInt8 {
        unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }
}
