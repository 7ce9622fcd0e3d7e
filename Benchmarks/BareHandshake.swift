import Foundation
import Lab
import TestSupport
import Transport

/// Full TLS 1.3 handshakes of `openssl s_server`, with the certificate and key of the server that is measured beside it.
///
/// The yardstick for a new connection: libssl with nothing around it that matters. The same group and cipher, no tickets,
/// and nothing written to its output, which would cost time that a server without output does not need.
struct BareHandshake {
    private let process: Process
    private let port: Int
    private let lab: LabFolder

    /// Starts it for a lab; nil where there is no `openssl` command.
    static func start(lab: String) async throws -> BareHandshake? {
        let folder = LabFolder(lab)
        let port = try await Self.freePort(folder)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "s_server", "-accept", "127.0.0.1:\(port)", "-cert", folder.certificateFile, "-key",
            folder.certificateKeyFile, "-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256", "-groups", "X25519",
            "-alpn", "remote-pin/1", "-num_tickets", "0", "-no_cache", "-quiet",
        ]
        // Left open: it ends with its input.
        process.standardInput = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let server = BareHandshake(process: process, port: port, lab: folder)
        for _ in 0..<200 {
            if (try? await server.connect(Self.target(of: folder, port: port))) != nil { return server }
            try await Task.sleep(for: .milliseconds(10))
        }
        server.stop()
        return nil
    }

    /// Microseconds of its CPU time for each of `count` handshakes, one after the other.
    func cost(_ count: Int) async throws -> Double {
        let target = try Self.target(of: self.lab, port: self.port)
        let before = try ProcessTime.cpu(of: self.process.processIdentifier)
        for _ in 0..<count { try await self.connect(target) }
        let cpu = try ProcessTime.cpu(of: self.process.processIdentifier) - before
        return (cpu / .microseconds(1)) / Double(count)
    }

    func stop() {
        kill(self.process.processIdentifier, SIGKILL)
    }

    private func connect(_ target: TestServer) async throws {
        let connection = try await target.connect()
        connection.close()
        await connection.closed()
    }

    private static func target(of folder: LabFolder, port: Int) throws -> TestServer {
        let lab = try TestServer(lab: folder.path)
        return TestServer(
            host: "127.0.0.1",
            port: port,
            tls: lab.tls,
            authorityFolder: lab.authorityFolder,
            clock: lab.clock
        )
    }

    /// A port of 127.0.0.1 that nobody listens on any more.
    private static func freePort(_ folder: LabFolder) async throws -> Int {
        let tls = try TLSServerContext(certificateFile: folder.certificateFile, keyFile: folder.certificateKeyFile)
        let listener = try await RPCListener.bind(host: "127.0.0.1", port: 0, tls: tls)
        listener.stop()
        await listener.serve { _ in }
        return listener.port
    }
}
