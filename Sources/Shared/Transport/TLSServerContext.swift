internal import COpenSSL
internal import Glibc
internal import Synchronization
package import Vocabulary

/// A server's certificate and key, which can be replaced at run time.
package final class TLSServerContext: Sendable {
    private let certificatePath: String
    private let keyPath: String
    let current: Mutex<SSLContext>

    /// Reads a certificate chain (PEM, starting with the leaf) and its private key (PEM, unencrypted).
    package init(certificateFile: String, keyFile: String) throws(TLSContextError) {
        self.certificatePath = certificateFile
        self.keyPath = keyFile
        self.current = Mutex(try SSLContext(certificateFile: certificateFile, keyFile: keyFile))
    }

    /// Reloads both files for new connections.
    ///
    /// Existing connections are not affected.
    ///
    /// The new context has new ticket keys, so that no ticket outlives the certificate it was issued under. If this
    /// throws, the current certificate stays in use.
    ///
    /// Working certificates are never replaced with ones that wallets would reject at the time `now`.
    package func reload(at now: Timestamp) throws(TLSContextError) {
        let replacement = try SSLContext(certificateFile: self.certificatePath, keyFile: self.keyPath)
        let faults = replacement.certificateFaults(at: now).filter(\.isFatal)
        guard faults.isEmpty else { throw .faults(path: self.certificatePath, faults) }
        self.current.withLock { $0 = replacement }
    }

    /// Creates the server's end of a new connection.
    func makeConnection() -> TLSConnection { TLSConnection(server: self.current.withLock { $0 }) }
}

extension SSLContext {
    /// The maximum size of the content of a server's record, in bytes.
    ///
    /// Whenever libssl writes a record, it allocates memory for one of the maximum size. Our answers are short, and
    /// malloc(3) can serve small allocations from a cache, unlike 17 KiB.
    private static let longestRecord = 800

    /// Creates a server's context.
    fileprivate convenience init(certificateFile: String, keyFile: String) throws(TLSContextError) {
        self.init(tickets: nil, ticketKeys: TicketKeys())
        ERR_clear_error()
        // Reject encrypted keys. By default, libssl would ask for the password on the terminal.
        unsafe SSL_CTX_set_default_passwd_cb(self.pointer) { _, _, _, _ in -1 }
        guard unsafe SSL_CTX_use_certificate_chain_file(self.pointer, certificateFile) == 1 else {
            throw .certificate(path: certificateFile, reason: OpenSSLError.take(of: ERR_LIB_PEM).text)
        }
        guard unsafe SSL_CTX_use_PrivateKey_file(self.pointer, keyFile, SSL_FILETYPE_PEM) == 1 else {
            let error = OpenSSLError.take(of: ERR_LIB_X509)
            throw error.isReason(X509_R_KEY_VALUES_MISMATCH, of: ERR_LIB_X509)
                ? .keyOfAnotherCertificate(path: keyFile) : .key(path: keyFile, reason: error.text)
        }
        guard unsafe SSL_CTX_check_private_key(self.pointer) == 1 else {
            ERR_clear_error()
            throw .keyOfAnotherCertificate(path: keyFile)
        }
        let isSet = unsafe COpenSSL_SSL_CTX_set_max_send_fragment(self.pointer, Self.longestRecord) == 1
        precondition(isSet, "libssl allows records of 512 bytes and more")
        // Tickets are stateless, and one per connection is enough.
        unsafe SSL_CTX_set_num_tickets(self.pointer, 1)
        self.encryptTickets()
        self.honorTicketRequests()
        unsafe SSL_CTX_set_client_hello_cb(self.pointer, requireProtocolNames, nil)
        unsafe SSL_CTX_set_alpn_select_cb(self.pointer, selectProtocol, nil)
    }
}

/// Rejects a client without ALPN, which libssl would accept.
private func requireProtocolNames(
    _ ssl: OpaquePointer?,
    _ alert: UnsafeMutablePointer<Int32>?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    var data: UnsafePointer<UInt8>?
    var byteCount = 0
    let type = UInt32(TLSEXT_TYPE_application_layer_protocol_negotiation)
    if unsafe SSL_client_hello_get0_ext(ssl, type, &data, &byteCount) == 1 { return SSL_CLIENT_HELLO_SUCCESS }
    unsafe alert?.pointee = SSL_AD_NO_APPLICATION_PROTOCOL
    return SSL_CLIENT_HELLO_ERROR
}

/// Selects `remote-pin/1` from the client's list, or fails the handshake.
///
/// The result points into the client's list, which is allowed by SSL_CTX_set_alpn_select_cb(3).
private func selectProtocol(
    _: OpaquePointer?,
    _ choice: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ choiceByteCount: UnsafeMutablePointer<UInt8>?,
    _ list: UnsafePointer<UInt8>?,
    _ listByteCount: UInt32,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    let names = unsafe UnsafeBufferPointer(start: list, count: Int(listByteCount))
    var start = 0
    while start < names.count {
        let byteCount = unsafe Int(names[start])
        let end = start + 1 + byteCount
        guard end <= names.count else { break }
        if unsafe names[(start + 1)..<end].elementsEqual(SSLContext.protocolName.utf8) {
            unsafe choice?.pointee = list?.advanced(by: start + 1)
            unsafe choiceByteCount?.pointee = UInt8(byteCount)
            return SSL_TLSEXT_ERR_OK
        }
        start = end
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

extension TLSServerContext {
    /// The expiry time of the current certificate, or nil if it cannot be read.
    package var certificateExpiry: Timestamp? {
        let context = self.current.withLock { $0 }
        return withExtendedLifetime(context) {
            unsafe SSL_CTX_get0_certificate(context.pointer).flatMap {
                unsafe Timestamp(certificateTime: X509_get0_notAfter($0))
            }
        }
    }

    /// Returns the faults in the current certificates at the given time.
    package func faults(at now: Timestamp) -> [CertificateFault] {
        self.current.withLock { $0 }.certificateFaults(at: now)
    }
}

/// A problem with a server's certificates that libssl does not report.
package enum CertificateFault: Hashable, Sendable {
    /// The certificate at this position in the file, counting from 1, has expired.
    case expired(place: Int, since: Timestamp)
    /// The certificate expires within ``CertificateFault/shortTime``.
    case expiresSoon(place: Int, at: Timestamp)
    case notYetValid(place: Int, until: Timestamp)
    /// The next certificate in the file is not the issuer of this one.
    case otherIssuer(place: Int)
    /// The server's certificate has no subject alternative name, so no wallet will accept it (RFC 9525 §6.3).
    case noNames

    /// The remaining validity below which a certificate is considered to expire soon.
    package static let shortTime: Duration = .seconds(14 * 86_400)

    /// Whether wallets would reject the certificates right now.
    package var isFatal: Bool {
        if case .expiresSoon = self { false } else { true }
    }
}

extension SSLContext {
    /// Returns the faults in the context's own certificates at the given time.
    func certificateFaults(at now: Timestamp) -> [CertificateFault] {
        guard var certificate = unsafe SSL_CTX_get0_certificate(self.pointer) else { return [] }
        var faults: [CertificateFault] = []
        if unsafe X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) < 0 { faults.append(.noNames) }
        var place = 1
        while true {
            if let start = unsafe Timestamp(certificateTime: X509_get0_notBefore(certificate)), now < start {
                faults.append(.notYetValid(place: place, until: start))
            }
            if let end = unsafe Timestamp(certificateTime: X509_get0_notAfter(certificate)) {
                if end <= now {
                    faults.append(.expired(place: place, since: end))
                } else if end < now + CertificateFault.shortTime {
                    faults.append(.expiresSoon(place: place, at: end))
                }
            }
            let next = unsafe COpenSSL_SSL_CTX_get0_chain_cert(self.pointer, Int32(place - 1))
            guard let issuer = unsafe next else { return faults }
            // Just comparing the names would also accept a different authority with the same name.
            let isIssuer =
                unsafe X509_check_issued(issuer, certificate) == X509_V_OK
                && X509_verify(certificate, X509_get0_pubkey(issuer)) == 1
            ERR_clear_error()
            if !isIssuer { faults.append(.otherIssuer(place: place)) }
            unsafe certificate = issuer
            place += 1
        }
    }
}

extension Timestamp {
    /// Reads a time from a certificate; returns nil if it cannot be read.
    fileprivate init?(certificateTime time: UnsafePointer<ASN1_TIME>?) {
        var parts = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        self.init(milliseconds: unsafe Int64(timegm(&parts)) * 1000)
    }
}
