internal import COpenSSL
internal import Glibc

/// A copy of an entry from libssl's error queue.
///
/// The queue is thread-local, so it must be read and cleared in the same synchronous function as the call that failed.
struct OpenSSLError {
    /// The part of the library, `ERR_LIB_…`.
    ///
    /// Each part numbers its reasons separately.
    let library: Int32
    /// The number of the reason, or 0 if the queue was empty.
    let reason: Int32
    /// libssl's description of the reason.
    let text: String

    /// Returns the oldest entry from `library`, or else the oldest entry overall, which has caused the others.
    ///
    /// Clears the queue.
    static func take(of library: Int32) -> OpenSSLError {
        var taken = OpenSSLError(library: 0, reason: 0, text: "unknown")
        while true {
            let code = ERR_get_error()
            guard code != 0 else { return taken }
            let isWanted = COpenSSL_ERR_GET_LIB(code) == library && taken.library != library
            if taken.reason == 0 || isWanted { taken = OpenSSLError(code: code) }
        }
    }

    private init(library: Int32, reason: Int32, text: String) {
        self.library = library
        self.reason = reason
        self.text = text
    }

    private init(code: UInt) {
        let words = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
        self.init(
            library: COpenSSL_ERR_GET_LIB(code),
            reason: COpenSSL_ERR_GET_REASON(code),
            text: Self.systemText(of: code) ?? words ?? "error \(code)"
        )
    }

    /// Returns the system's message for an errno that libssl has passed on without one (`ERR_SYSTEM_FLAG`).
    private static func systemText(of code: UInt) -> String? {
        guard code & Self.systemFlag != 0 else { return nil }
        return unsafe strerror(Int32(truncatingIfNeeded: code & ~Self.systemFlag)).map { unsafe String(cString: $0) }
    }

    private static let systemFlag: UInt = 1 << 31

    /// Returns whether the entry has this reason.
    func isReason(_ reason: Int32, of library: Int32) -> Bool { self.library == library && self.reason == reason }
}
