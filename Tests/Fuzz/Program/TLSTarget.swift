internal import HostSystem
internal import Lab
internal import NIOCore
@testable import Transport
internal import Vocabulary

/// The first bytes of a client, up to the answer of libssl with the server's callbacks.
final class TLSTarget: FuzzTarget {
    private let server: TLSServerContext
    private let client: TLSClientContext

    init(folder: String) throws {
        let authority = LabAuthority()
        let (chain, key) = authority.issueTLSServerCertificate(names: ["localhost"])
        try DurableFile.write(Array(chain.utf8), to: "\(folder)/tls.pem")
        try DurableFile.write(Array(key.utf8), to: "\(folder)/tls.key")
        self.server = try TLSServerContext(certificateFile: "\(folder)/tls.pem", keyFile: "\(folder)/tls.key")
        let trust = TLSTrust.authority(pem: Array(authority.tlsAuthorityPEM.utf8))
        self.client = try TLSClientContext(trust: trust, serverName: "localhost", resumes: false)
    }

    func run(_ input: [UInt8]) {
        let buffer = ByteBuffer(bytes: input)
        let status = ClientHelloRecord.check(buffer)
        // A rejected prefix stays rejected, and a complete one stays complete.
        for count in [1, 3, 5, 6, input.count / 2] where count <= input.count {
            switch ClientHelloRecord.check(ByteBuffer(bytes: input.prefix(count))) {
            case .notTLS: require(status == .notTLS, "later bytes make a rejected record valid")
            case .complete: require(status == .complete, "later bytes change a complete record")
            case .incomplete: break
            }
        }
        guard status == .complete else { return }
        let connection = self.server.makeConnection()
        connection.receive(buffer)
        let isDone = try? connection.handshake()
        require(isDone != true, "a handshake ends without the client's Finished")
        _ = connection.takeOutput()
    }

    var words: [String] { ["remote-pin/1", "\u{0C}remote-pin/1", "h2", "http/1.1", "localhost"] }

    var seeds: [[UInt8]] {
        let connection = self.client.makeConnection()
        _ = try? connection.handshake()
        let hello = connection.takeOutput().map { Array(buffer: $0) } ?? []
        return [hello, [22, 3, 1, 0, 1, 1], [22, 3, 1, 0x40, 1, 1]]
    }
}
