internal import COpenSSL
internal import Synchronization
package import Vocabulary

/// A client's TLS configuration: the trust rule, the server name, and the tickets received with them.
package final class TLSClientContext: Sendable {
    private let context: SSLContext
    private let serverName: ServerName

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - serverName: The DNS name or IP address that the certificate must be valid for.
    ///   - resumes: Whether to keep and use tickets. If false, every handshake is a full one, and the client tells the
    ///     server that it does not want any tickets.
    ///   - verifiesOnce: Whether to verify a certificate issued by an authority only on the first connection that
    ///     presents it. This is for load tools, whose CPU time limits the load. The client then does not notice when
    ///     the certificate expires.
    package init(
        trust: TLSTrust,
        serverName: String,
        resumes: Bool = true,
        verifiesOnce: Bool = false
    ) throws(TLSContextError) {
        guard let name = ServerName(serverName) else { throw .serverName(serverName) }
        let pins: PinnedKeys? =
            switch trust {
            case .authority: nil
            case .publicKeys(let digests): PinnedKeys(digests: digests, name: name)
            }
        self.serverName = name
        self.context = SSLContext(tickets: resumes ? TLSTickets() : nil, pins: pins)
        switch trust {
        case .authority(let pem):
            try self.context.trust(authorities: pem, name: name)
            if verifiesOnce { self.context.rememberCertificate() }
        case .publicKeys(let digests):
            guard !digests.isEmpty else { throw .trust }
            self.context.trustPinnedKeys()
        }
        if resumes { self.context.collectTickets() } else { self.context.requestTickets("\0\0") }
    }

    /// Creates the client's end of a new connection, which resumes an earlier one if a ticket is available.
    func makeConnection() -> TLSConnection {
        TLSConnection(client: self.context, name: self.serverName)
    }

    /// The number of unused tickets.
    ///
    /// A ticket is used only once.
    var ticketCount: Int { self.context.tickets?.count ?? 0 }
}

/// A client's rule for trusting a server.
///
/// The platform's root certificates are never used.
package enum TLSTrust: Hashable, Sendable {
    /// The PEM certificates of the trusted authorities.
    ///
    /// The server's certificate must have been issued by one of them, and its name and validity period must be right.
    case authority(pem: [UInt8])
    /// The SHA-256 hashes of the trusted keys' SubjectPublicKeyInfo.
    ///
    /// The key in the server's certificate must be one of them, and the certificate's name and validity period must be
    /// right.
    case publicKeys([SHA256Digest])
}

/// The pinned public keys, one of which the server must present, and the name its certificate must have.
final class PinnedKeys: Sendable {
    let digests: Set<SHA256Digest>
    let name: ServerName

    init(digests: [SHA256Digest], name: ServerName) {
        self.digests = Set(digests)
        self.name = name
    }

    /// Returns `X509_V_OK`, or libssl's error number for the certificate.
    fileprivate func check(_ certificate: OpaquePointer) -> Int32 {
        var encoded: UnsafeMutablePointer<UInt8>?
        let byteCount = unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded)
        defer { unsafe CRYPTO_free(encoded, #file, #line) }
        guard byteCount > 0 else { return X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY }
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        unsafe SHA256(encoded, Int(byteCount), &digest)
        guard let key = SHA256Digest(digest), self.digests.contains(key) else { return X509_V_ERR_CERT_UNTRUSTED }
        guard unsafe X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0 else {
            return X509_V_ERR_CERT_NOT_YET_VALID
        }
        guard unsafe X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0 else {
            return X509_V_ERR_CERT_HAS_EXPIRED
        }
        switch self.name {
        case .dns(let name):
            // rule: transport-pinned-name-not-checked
            let isFor = unsafe X509_check_host(certificate, name, 0, nameFlags, nil) == 1
            return isFor ? X509_V_OK : X509_V_ERR_HOSTNAME_MISMATCH
        case .address(let address):
            let isFor = unsafe X509_check_ip_asc(certificate, address, 0) == 1
            return isFor ? X509_V_OK : X509_V_ERR_IP_ADDRESS_MISMATCH
        }
    }
}

/// Names are read only from the subject alternative names, and a wildcard must be a complete label (RFC 9525 §6.3).
private let nameFlags = UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)

/// The certificate that a client verified last.
final class VerifiedCertificate: Sendable {
    private let digest = Mutex<[UInt8]>([])

    /// Verifies the certificate and its chain, unless it is the last one that was verified.
    fileprivate func check(_ store: OpaquePointer, _ certificate: OpaquePointer) -> Int32 {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        let hasDigest = unsafe X509_digest(certificate, EVP_sha256(), &digest, nil) == 1
        if hasDigest, self.digest.withLock({ $0 == digest }) {
            unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
            return 1
        }
        let result = unsafe X509_verify_cert(store)
        if hasDigest, result == 1 { self.digest.withLock { $0 = digest } }
        return result
    }
}

extension SSLContext {
    /// Only trusts certificates for this name that were issued by one of these authorities.
    func trust(authorities pem: [UInt8], name: ServerName) throws(TLSContextError) {
        ERR_clear_error()
        unsafe SSL_CTX_set_verify(self.pointer, SSL_VERIFY_PEER, nil)
        let parameters = unsafe SSL_CTX_get0_param(self.pointer)
        let isSet: Bool
        switch name {
        case .dns(let name):
            unsafe X509_VERIFY_PARAM_set_hostflags(parameters, nameFlags)
            isSet = unsafe X509_VERIFY_PARAM_set1_host(parameters, name, 0) == 1
        case .address(let address): isSet = unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, address) == 1
        }
        guard isSet else { throw .serverName("\(name)") }
        guard try self.addAuthorities(pem) > 0 else { throw .trust }
    }

    /// Adds all certificates in a PEM text to the trusted ones and returns their number.
    private func addAuthorities(_ pem: [UInt8]) throws(TLSContextError) -> Int {
        guard let length = Int32(exactly: pem.count), length > 0, let source = unsafe BIO_new(BIO_s_mem()) else {
            throw .trust
        }
        defer { unsafe BIO_free(source) }
        guard unsafe BIO_write(source, pem, length) == length else { throw .trust }
        // Without this, the BIO asks for a retry at the end of the text instead of reporting the end.
        unsafe BIO_ctrl(source, BIO_C_SET_BUF_MEM_EOF_RETURN, 0, nil)
        var count = 0
        while let certificate = unsafe PEM_read_bio_X509(source, nil, nil, nil) {
            defer { unsafe X509_free(certificate) }
            guard unsafe X509_STORE_add_cert(SSL_CTX_get_cert_store(self.pointer), certificate) == 1 else {
                ERR_clear_error()
                throw .trust
            }
            count += 1
        }
        // Make sure we got to the end of the text, so that an unreadable certificate is not silently skipped.
        guard OpenSSLError.take(of: ERR_LIB_PEM).isReason(PEM_R_NO_START_LINE, of: ERR_LIB_PEM) else { throw .trust }
        return count
    }

    /// Trusts the context's pinned keys.
    ///
    /// This completely replaces libssl's chain verification.
    func trustPinnedKeys() {
        guard let pins = self.pins else { preconditionFailure("a context without pins has none to trust") }
        unsafe SSL_CTX_set_verify(self.pointer, SSL_VERIFY_PEER, nil)
        // The context object owns the pins, and every connection keeps the context object alive.
        let argument = unsafe Unmanaged.passUnretained(pins).toOpaque()
        unsafe SSL_CTX_set_cert_verify_callback(self.pointer, checkPinnedKey, argument)
    }
}

extension SSLContext {
    /// Verifies the chain of a certificate only if it differs from the last one that was verified.
    func rememberCertificate() {
        // The context object owns the memory, and every connection keeps the context object alive.
        let argument = unsafe Unmanaged.passUnretained(self.verified).toOpaque()
        unsafe SSL_CTX_set_cert_verify_callback(self.pointer, checkUnlessVerified, argument)
    }
}

/// The verification callback for a client that remembers a certificate.
private func checkUnlessVerified(_ store: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let argument = unsafe argument, let store = unsafe store,
        let certificate = unsafe X509_STORE_CTX_get0_cert(store)
    else { return 0 }
    let verified = unsafe Unmanaged<VerifiedCertificate>.fromOpaque(argument).takeUnretainedValue()
    return unsafe verified.check(store, certificate)
}

/// The verification callback for pinned keys.
private func checkPinnedKey(_ store: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let argument = unsafe argument, let certificate = unsafe X509_STORE_CTX_get0_cert(store) else { return 0 }
    let pins = unsafe Unmanaged<PinnedKeys>.fromOpaque(argument).takeUnretainedValue()
    let result = unsafe pins.check(certificate)
    unsafe X509_STORE_CTX_set_error(store, result)
    return result == X509_V_OK ? 1 : 0
}

/// A server's DNS name or IP address.
enum ServerName: Hashable, Sendable {
    case dns(String)
    case address(String)

    /// Parses a name or an address; returns nil for any other text.
    init?(_ text: String) {
        guard (1...253).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        if let octets = unsafe a2i_IPADDRESS(text) {
            unsafe ASN1_OCTET_STRING_free(octets)
            self = .address(text)
        } else {
            ERR_clear_error()
            let isName = text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            guard isName else { return nil }
            self = .dns(text)
        }
    }
}
