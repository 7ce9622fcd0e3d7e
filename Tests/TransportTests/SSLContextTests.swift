import COpenSSL
import NIOCore
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

    /// Ids of groups (RFC 8446 §4.2.7, draft-ietf-tls-ecdhe-mlkem).
    private static let (p256, x25519, x25519MLKEM768): ([UInt8], [UInt8], [UInt8]) = ([0, 23], [0, 29], [0x11, 0xEC])

    /// Whether the installed libssl has X25519MLKEM768, according to its version.
    private static let hasHybrid = (OPENSSL_version_major(), OPENSSL_version_minor()) >= (3, 5)

    @Test("a client offers X25519MLKEM768 if libssl has it, then X25519 and P-256, with shares for all but P-256")
    func offeredGroups() throws {
        let client = try TestCertificates().clientContext().makeConnection()
        #expect(try !client.handshake())
        let output = client.takeOutput()
        let hello = Array(try #require(output).readableBytesView)
        let hybrid = Self.hasHybrid ? [Self.x25519MLKEM768] : []
        let groups = (hybrid + [Self.x25519, Self.p256]).flatMap(\.self)
        #expect(try #require(HelloExtensions(in: hello).data(of: 10)) == [0, UInt8(groups.count)] + groups)
        var shares = try #require(HelloExtensions(in: hello).data(of: 51)).dropFirst(2)
        for group in hybrid + [Self.x25519] {
            #expect(Array(shares.prefix(2)) == group)
            let length = shares.dropFirst(2).prefix(2).reduce(0) { $0 << 8 | Int($1) }
            shares = shares.dropFirst(4 + length)
        }
        #expect(shares.isEmpty)
    }

    @Test("a server and a client of this project agree on the first group without another round trip")
    func agreedGroup() throws {
        let certificates = try TestCertificates()
        let client = try certificates.clientContext().makeConnection()
        let server = try certificates.serverContext().makeConnection()
        #expect(try !client.handshake())
        let offer = client.takeOutput()
        server.receive(try #require(offer))
        #expect(try !server.handshake())
        let answer = server.takeOutput()
        let hello = Array(try #require(answer).readableBytesView)
        let share = try #require(HelloExtensions(in: hello).data(of: 51))
        #expect(Array(share.prefix(2)) == (Self.hasHybrid ? Self.x25519MLKEM768 : Self.x25519))
        // A HelloRetryRequest would only name the group.
        #expect(share.count > 2 + 32)
    }

    @Test(
        "a server accepts X25519 and P-256, and no other curve",
        arguments: [("X25519", true), ("P-256", true), ("P-384", false), ("X448", false)]
    )
    func acceptedGroups(group: String, isAccepted: Bool) async throws {
        let certificates = try TestCertificates()
        try await withServer(certificates) { port, _, _ in
            let output = try await OpenSSLCommand.run(
                ["s_client", "-connect", "127.0.0.1:\(port)", "-alpn", "remote-pin/1", "-groups", group]
            )
            #expect(output.contains("ALPN protocol: remote-pin/1") == isAccepted)
            #expect(output.contains("handshake failure") != isAccepted)
        }
    }
}
