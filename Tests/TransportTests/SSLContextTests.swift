import COpenSSL
import Synchronization
import Testing

@testable import Transport

@Suite("The configuration of libssl")
struct SSLContextTests {
    @Test("libssl wipes decrypted records on both sides")
    func cleansesPlaintext() throws {
        let certificates = try TestCertificates()
        let server = try certificates.serverContext().current.withLock { $0 }
        for context in [server, SSLContext(tickets: nil)] {
            #expect(unsafe SSL_CTX_get_options(context.pointer) & COpenSSL_SSL_OP_CLEANSE_PLAINTEXT() != 0)
        }
    }
}
