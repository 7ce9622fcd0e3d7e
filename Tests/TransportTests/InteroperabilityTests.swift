import TestSupport
import Testing
import Vocabulary
import Wire

@testable import Transport

@Suite("TLS against the openssl command")
struct InteroperabilityTests {
    private let certificates: TestCertificates
    private static let exporter = ["-keymatexport", "EXPORTER-Channel-Binding", "-keymatexportlen", "32"]

    init() throws {
        self.certificates = try TestCertificates()
    }

    private func client(_ port: Int, _ more: [String]) -> OpenSSLCommand {
        OpenSSLCommand(
            ["s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", self.certificates.authorityPath] + more
        )
    }

    @Test("the openssl client is served and exports a channel binding")
    func foreignClient() async throws {
        try await withServer(self.certificates) { port, _, _ in
            let command = self.client(port, ["-alpn", "remote-pin/1", "-verify_return_error"] + Self.exporter)
            defer { command.end() }
            #expect(await command.find(/ALPN protocol: remote-pin\/1/) != nil)
            #expect(await command.find(/Verify return code: 0/) != nil)
            let exported = try #require(await command.find(/Keying material: ([0-9A-F]{64})/)).1
            let wipe = Request(id: 9, call: .reportWipe).encoded()
            try command.write([0, 0, 0, UInt8(wipe.count)] + wipe)
            // An empty frame is answered with an error frame; then the connection is closed gracefully.
            try command.write([0, 0, 0, 0])
            #expect(await command.find(/closed/) != nil)
            #expect(exported.count == 64)
        }
    }

    @Test("a client may send some key updates, but one that sends nothing else is disconnected")
    func keyUpdates() async throws {
        let failures = Failures()
        try await withServer(self.certificates, failures: failures) { port, _, _ in
            let command = self.client(port, ["-alpn", "remote-pin/1"])
            defer { command.end() }
            #expect(await command.find(/Verify return code: 0/) != nil)
            func update(_ number: Int) async -> Bool {
                // A command of s_client, if it is the only content of a read.
                guard (try? command.write(Array("K\n".utf8))) != nil else { return false }
                return await command.prints("KEYUPDATE", times: number)
            }
            for number in 1...32 { try #require(await update(number)) }
            var number = 32
            // The client continues until it notices the end.
            while number < 5000, await update(number + 1) { number += 1 }
            try #require(number < 5000, "the server must disconnect the client")
            #expect(await failures.next() == .tls(.broken("too many key updates")))
        }
    }

    @Test("the channel binding that the openssl client exports equals the server's")
    func sameBinding() async throws {
        let bindings = AsyncStream<ChannelBinding>.makeStream()
        try await withServer(
            self.certificates,
            serve: { connection in
                bindings.continuation.yield(connection.channelBinding)
                await echo(connection)
            }
        ) { port, _, _ in
            let command = self.client(port, ["-alpn", "remote-pin/1"] + Self.exporter)
            let exported = try #require(await command.find(/Keying material: ([0-9A-F]{64})/)).1
            var iterator = bindings.stream.makeAsyncIterator()
            let binding = await iterator.next(isolation: nil)
            #expect(binding == ChannelBinding(hex: String(exported)))
            command.end()
        }
    }

    @Test("the openssl server exports the same channel binding as the client, and resumes its tickets")
    func foreignServer() async throws {
        let context = try self.certificates.clientContext()
        let command = OpenSSLCommand(
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", self.certificates.certificatePath, "-key",
                self.certificates.keyPath, "-alpn", "remote-pin/1", "-tls1_3",
            ] + Self.exporter
        )
        defer { command.end() }
        let port = try await command.listeningPort()
        let connection = try await connect(port, context)
        let exported = try #require(await command.find(/Keying material: ([0-9A-F]{64})/)).1
        #expect(connection.channelBinding == ChannelBinding(hex: String(exported)))
        // Tickets that arrive after close_notify are not read.
        #expect(await eventually { context.ticketCount > 0 })
        connection.close()
        #expect(await happens { await connection.closed() })
        let second = try await connect(port, context)
        #expect(second.isResumed)
        #expect(second.channelBinding != connection.channelBinding)
        second.close()
        #expect(await happens { await second.closed() })
    }

    @Test(
        "a client with TLS 1.2, without ALPN, or with another protocol is rejected",
        arguments: [
            (["-tls1_2", "-alpn", "remote-pin/1"], TLSFailure.broken("unsupported protocol"), "protocol version"),
            (["-tls1_3"], .noCommonProtocol, "no application protocol"),
            (["-tls1_3", "-alpn", "h2,http/1.1"], .noCommonProtocol, "no application protocol"),
        ]
    )
    func refusedClient(arguments: [String], reason: TLSFailure, alert: String) async throws {
        let failures = Failures()
        try await withServer(self.certificates, failures: failures) { port, _, _ in
            let output = try await OpenSSLCommand.run(["s_client", "-connect", "127.0.0.1:\(port)"] + arguments)
            #expect(output.contains(alert))
            #expect(await failures.next() == .tls(reason))
        }
    }

    @Test(
        "a server with TLS 1.2, without ALPN, or with another protocol is rejected",
        arguments: [
            (["-tls1_2", "-alpn", "remote-pin/1"], TLSFailure.refusedByPeer(alert: 70)),
            (["-tls1_3"], .noCommonProtocol), (["-tls1_3", "-alpn", "h2"], .noCommonProtocol),
        ]
    )
    func refusedServer(arguments: [String], reason: TLSFailure) async throws {
        let context = try self.certificates.clientContext()
        let command = OpenSSLCommand(
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", self.certificates.certificatePath, "-key",
                self.certificates.keyPath,
            ] + arguments
        )
        defer { command.end() }
        let port = try await command.listeningPort()
        await #expect(throws: ConnectError.tls(reason)) { try await connect(port, context) }
    }
}
