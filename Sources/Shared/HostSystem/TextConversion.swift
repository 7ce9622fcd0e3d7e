/// A change that a transfer in text mode or an editor makes to the bytes of a text file.
package enum TextConversion: Hashable, Sendable, CustomStringConvertible {
    case lineEnds, byteOrderMark

    /// Returns the change that a line without its line feed shows, or nil if it shows none.
    package init?(of line: some BidirectionalCollection<UInt8>) {
        if line.starts(with: [0xEF, 0xBB, 0xBF]) {
            self = .byteOrderMark
        } else if line.last == 0x0D {
            self = .lineEnds
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .lineEnds: "ends with CR LF instead of LF, as after a transfer in text mode (dos2unix undoes it)"
        case .byteOrderMark: "begins with a byte order mark, which an editor added (dos2unix removes it)"
        }
    }
}
