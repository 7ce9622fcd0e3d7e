internal import COpenSSL

/// The TLS library.
package enum TLSLibrary {
    /// The version of the loaded library, such as `OpenSSL 3.0.17 1 Jul 2025`.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION) else { return "unknown" }
        return unsafe String(cString: text)
    }
}
