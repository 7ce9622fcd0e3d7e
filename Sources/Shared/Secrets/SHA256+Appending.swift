internal import Crypto

extension [UInt8] {
    /// Appends SHA-256(`prefix` ‖ `bytes`), without the copy that a digest's iterator makes.
    package mutating func appendSHA256(of prefix: UInt8, _ bytes: ArraySlice<UInt8>) {
        var hash = SHA256()
        unsafe Swift.withUnsafeBytes(of: prefix) { unsafe hash.update(bufferPointer: $0) }
        unsafe bytes.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        unsafe hash.finalize().withUnsafeBytes { digest in unsafe self.append(contentsOf: digest) }
    }
}
