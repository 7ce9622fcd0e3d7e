import Lab
import LabFiles
import HostSystem
import TestSupport
import Transport
import Wire

/// A proxy with a certificate that the client trusts: it reads every call and answers with anything.
///
/// A stolen certificate authority makes this possible (G6, and "Believing the server").
final class InterceptingProxy: Sendable {
    /// The proxy's answer to a call, for which it may ask the real server first.
    typealias Answering = @Sendable (Call, _ relayed: () async throws -> CallResult) async throws -> CallResult

    /// The folder of a lab whose server address is the proxy's.
    let folder: String
    private let listener: RPCListener
    private let serving: Task<Void, Never>

    /// Intercepts connections from wallets of a lab to its real server.
    init(before lab: LabUnderTest, answering: @escaping Answering) async throws {
        self.folder = "\(lab.folder)/intercepting-proxy"
        let authority = try LabAuthority.load(from: lab.lab.authorityFolder)
        let (certificate, key) = authority.issueTLSServerCertificate(names: ["localhost", "127.0.0.1"])
        try DurableFile.makeFolder(self.folder)
        try DurableFile.write(Array(certificate.utf8), to: "\(self.folder)/tls.pem")
        try DurableFile.write(Array(key.utf8), to: "\(self.folder)/tls.key")
        self.listener = try await RPCListener.bind(
            host: "127.0.0.1",
            port: 0,
            tls: try TLSServerContext(
                certificateFile: "\(self.folder)/tls.pem",
                keyFile: "\(self.folder)/tls.key"
            )
        )
        var file = try LabFile(of: lab.lab)
        file.port = self.listener.port
        try file.write(to: LabFolder(self.folder))
        let server = try lab.server
        self.serving = Task { [listener] in
            await listener.serve { await Self.serve($0, server, answering) }
        }
    }

    deinit {
        self.listener.stop()
        self.serving.cancel()
    }

    /// Serves one client's connection over a separate one to the server; any failure ends both.
    private static func serve(_ client: ServerConnection, _ server: TestServer, _ answering: Answering) async {
        guard let upstream = try? await server.connect() else { return }
        defer { upstream.close() }
        while case .request(let request) = await client.next() {
            let result = try? await answering(request.call) {
                try await upstream.call(request.call, timeout: TestWallet.patience)
            }
            guard let result else { return }
            await client.send(Response(id: request.id, result: result))
        }
    }
}
