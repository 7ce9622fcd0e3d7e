internal import CZlib

/// The zlib format (RFC 1950), by the system's library.
///
/// Histograms are exchanged in it. Foundation has a zlib of its own, which it does not show.
package enum Zlib {
    /// Never fails: all input is in memory and the output has room for the worst case.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        let bound = compressBound(uLong(bytes.count))
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(bound)) { buffer, count in
            var length = bound
            let status = unsafe compress2(
                buffer.baseAddress,
                &length,
                bytes,
                uLong(bytes.count),
                Z_DEFAULT_COMPRESSION
            )
            precondition(status == Z_OK, "compressBound(3) is the most that compress2(3) writes")
            count = Int(length)
        }
    }

    /// - Parameter limit: The most bytes that may come out, so that a few hostile ones cannot fill the memory.
    package static func decompressed(_ bytes: [UInt8], atMost limit: Int) throws(ZlibError) -> [UInt8] {
        var capacity = min(max(bytes.count * 4, 256), limit)
        while true {
            var status = Z_OK
            let result = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                var length = uLong(capacity)
                status = unsafe uncompress(buffer.baseAddress, &length, bytes, uLong(bytes.count))
                count = status == Z_OK ? Int(length) : 0
            }
            switch status {
            case Z_OK: return result
            case Z_BUF_ERROR where capacity < limit: capacity = min(capacity * 4, limit)
            case Z_BUF_ERROR: throw .truncatedOrTooLong
            default: throw .malformed
            }
        }
    }
}

/// Why bytes could not be decompressed; the caller refuses what they came in.
package enum ZlibError: Error, Equatable, Sendable {
    /// They are not in the zlib format, or were changed: the checksum says so.
    case malformed
    /// They end too early, or hold more than the limit; uncompress(3) does not tell the two apart.
    case truncatedOrTooLong
}
