internal import COpenSSL

/// The library that all of TLS comes from.
package enum TLSLibrary {
    /// What the one in use says of itself, as `OpenSSL 3.0.17 1 Jul 2025`.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION) else { return "unknown" }
        return unsafe String(cString: text)
    }
}
