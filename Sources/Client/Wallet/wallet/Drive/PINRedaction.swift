internal import HostSystem
internal import WalletFlows

/// Removes the PIN from a line before anything else can read it.
///
/// A JSON decoder makes copies that are not wiped. The digits are moved from the reader's buffer, which is wiped, to a
/// ``PINInput``. The decoder only sees asterisks.
enum PINRedaction {
    /// Returns the line with the values of all `pin` keys overwritten, and the last of those values.
    ///
    /// `isQuoted` is false if one of the values is not a string.
    static func take(from line: borrowing WipedBuffer) -> (redacted: [UInt8], pin: PINInput?, isQuoted: Bool) {
        var redacted: [UInt8] = []
        redacted.reserveCapacity(line.count)
        var pin: PINInput?
        var isQuoted = true
        var position = 0
        while position < line.count {
            guard let key = self.string(at: position, in: line) else {
                redacted.append(line[position])
                position += 1
                continue
            }
            for index in key { redacted.append(line[index]) }
            position = key.upperBound
            guard self.isPIN(key, in: line), let value = self.value(after: key.upperBound, in: line) else { continue }
            for index in key.upperBound..<value.lowerBound { redacted.append(line[index]) }
            pin = Self.unescaped(value, in: line)
            if line[value.lowerBound - 1] != UInt8(ascii: "\"") { isQuoted = false }
            // If the value is not quoted, the asterisks make the line invalid. This is intended, because a number would
            // lose its leading zeros.
            for _ in value { redacted.append(UInt8(ascii: "*")) }
            position = value.upperBound
            // Skip the closing quote. Otherwise, it would be mistaken for the start of a string and hide the next key.
            if position < line.count, line[position] == UInt8(ascii: "\"") {
                redacted.append(line[position])
                position += 1
            }
        }
        return (redacted, pin, isQuoted)
    }

    /// Returns the range of the string that begins at `start`, including the quotes.
    ///
    /// An unterminated string extends to the end of the line.
    private static func string(at start: Int, in line: borrowing WipedBuffer) -> Range<Int>? {
        guard line[start] == UInt8(ascii: "\"") else { return nil }
        var index = start + 1
        while index < line.count {
            switch line[index] {
            case UInt8(ascii: "\\"): index += 2
            case UInt8(ascii: "\""): return start..<index + 1
            case _: index += 1
            }
        }
        return start..<line.count
    }

    /// Returns the characters of a string, in which JSON libraries write those beyond ASCII as `\u0661`.
    private static func unescaped(_ value: Range<Int>, in line: borrowing WipedBuffer) -> PINInput {
        // An escape is longer than the character.
        var characters = WipedBuffer(capacity: value.count)
        var place = value.lowerBound
        while place < value.upperBound {
            guard let (scalar, length) = self.escape(at: place, of: value.upperBound, in: line) else {
                _ = characters.append(line[place])
                place += 1
                continue
            }
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { _ = characters.append(byte) }
            place += length
        }
        return characters.withBytes { PINInput(typed: $0) }
    }

    /// Returns the character of a `\u` escape, or of two for a surrogate pair, and their length.
    private static func escape(
        at place: Int,
        of end: Int,
        in line: borrowing WipedBuffer
    ) -> (Unicode.Scalar, length: Int)? {
        guard let first = self.codeUnit(at: place, of: end, in: line) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        guard UTF16.isLeadSurrogate(first), let second = self.codeUnit(at: place + 6, of: end, in: line),
            UTF16.isTrailSurrogate(second)
        else { return nil }
        let pair = 0x10000 + UInt32(first & 0x3FF) << 10 + UInt32(second & 0x3FF)
        return Unicode.Scalar(pair).map { ($0, 12) }
    }

    /// Returns the UTF-16 code unit of an escape, `\u` and four hexadecimal digits.
    private static func codeUnit(at place: Int, of end: Int, in line: borrowing WipedBuffer) -> UInt16? {
        guard place + 6 <= end, line[place] == UInt8(ascii: "\\"), line[place + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for index in place + 2..<place + 6 {
            guard let digit = Character(Unicode.Scalar(line[index])).hexDigitValue else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private static func isPIN(_ key: Range<Int>, in line: borrowing WipedBuffer) -> Bool {
        let name = Array("\"pin\"".utf8)
        guard key.count == name.count else { return false }
        for (offset, byte) in name.enumerated() where line[key.lowerBound + offset] != byte { return false }
        return true
    }

    /// Returns the range of the value after the colon: the contents of a string, or everything up to a comma or brace.
    private static func value(after end: Int, in line: borrowing WipedBuffer) -> Range<Int>? {
        guard var start = self.afterSpace(end, in: line), line[start] == UInt8(ascii: ":"),
            let next = self.afterSpace(start + 1, in: line)
        else { return nil }
        start = next
        if let string = self.string(at: start, in: line) {
            return string.lowerBound + 1..<max(string.lowerBound + 1, string.upperBound - 1)
        }
        var stop = start
        while stop < line.count, ![UInt8(ascii: ","), UInt8(ascii: "}")].contains(line[stop]) { stop += 1 }
        return start..<stop
    }

    private static func afterSpace(_ start: Int, in line: borrowing WipedBuffer) -> Int? {
        for index in start..<max(start, line.count) where ![0x20, 0x09, 0x0D].contains(line[index]) { return index }
        return nil
    }
}
