/// Changes to a file: an offset of three bytes, a length of one byte, and the new bytes, repeatedly.
///
/// The length 0 cuts the file at the offset.
enum Patches {
    static func apply(_ patches: ArraySlice<UInt8>, to file: [UInt8]) -> [UInt8] {
        var (rest, file) = (patches, file)
        while let number = rest.takeNumber(byteCount: 3), let count = rest.popFirst(), !file.isEmpty {
            let offset = number % file.count
            if count == 0 {
                file.removeLast(file.count - offset)
                continue
            }
            for (place, byte) in rest.prefix(Int(count)).enumerated() where offset + place < file.count {
                file[offset + place] = byte
            }
            rest = rest.dropFirst(Int(count))
        }
        return file
    }

    /// A patch of one place.
    static func patch(_ offset: Int, _ bytes: [UInt8]) -> [UInt8] {
        [UInt8(offset >> 16 & 0xFF), UInt8(offset >> 8 & 0xFF), UInt8(offset & 0xFF), UInt8(bytes.count)] + bytes
    }
}
