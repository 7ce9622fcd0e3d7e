import Foundation
import Lab
import LoadFlood
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("Where a flood comes from")
struct SourceNetworkTests {
    @Test(
        "is a part of this machine's loopback network and nothing else",
        arguments: [
            "127.0.0.0/16", "127.0.0.0/8", "127.1.2.3", "127.1.2.3/32", "127.128.0.0/9",
        ]
    )
    func taken(text: String) throws {
        let network = try #require(SourceNetwork(text))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<100 { #expect(network.address(using: &generator).hasPrefix("127.")) }
    }

    @Test(
        "other networks are not taken",
        arguments: [
            "10.0.0.0/8", "0.0.0.0/0", "126.0.0.0/7", "127.0.0.1/16", "127.0.0.0/7", "127.0.0.0/33", "::1", "127.0.0",
            "",
        ]
    )
    func refused(text: String) {
        #expect(SourceNetwork(text) == nil)
    }

    @Test("addresses are all over the network and never outside")
    func spread() throws {
        let network = try #require(SourceNetwork("127.9.8.0/24"))
        var generator = SystemRandomNumberGenerator()
        let addresses = Set((0..<2_000).map { _ in network.address(using: &generator) })
        #expect(addresses.count > 200)
        #expect(addresses.allSatisfy { $0.hasPrefix("127.9.8.") })
    }
}

/// A served lab in a folder of its own.
private final class FloodedLab: Sendable {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("flood-\(UUID().uuidString.prefix(8))")
        .path

    func serve(_ environment: [String: String] = [:]) async throws -> ServerProcess {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        return try await ServerProcess.start(
            ["lab", "up", "\(self.folder)/lab"],
            environment: ["REMOTE_PIN_LOG_FILE": "none"].merging(environment) { $1 }
        )
    }

    func wallet() async throws -> TestWallet {
        try await TestWallet.register(
            at: try TestServer(lab: "\(self.folder)/lab"),
            folder: "\(self.folder)/devices",
            pin: "135790"
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.folder)
    }
}

@Suite("A server under a flood", .serialized)
struct FloodTests {
    @Test("sessions go on, newcomers get in, and the log is not filled", .timeLimit(.minutes(5)))
    func sessionsGoOn() async throws {
        let lab = FloodedLab()
        let server = try await lab.serve(["REMOTE_PIN_LIMITS_HANDSHAKES": "100"])
        let wallet = try await lab.wallet()
        let session = try await wallet.openSession()
        let plan = FloodPlan(
            kinds: FloodKind.allCases,
            sources: SourceNetwork("127.0.0.0/16"),
            rate: 300,
            held: 500,
            // Beyond the test's time limit: nobody gets in because it is over.
            duration: .seconds(600)
        )
        let flood = Flood(plan, host: "127.0.0.1", port: wallet.server.port)
        async let flooding: Void = flood.run()
        var checks = 0
        while flood.progress.opened < 900 || checks < 20 {
            guard case .instruct(.pinValid) = try await session.instruct(pin: "135790") else {
                Issue.record("a session did not go on")
                break
            }
            checks += 1
        }
        // Newcomers, whoever else fills the handshakes. On a busy machine one may be the oldest of many that came at once.
        var newcomer: TestSession?
        while newcomer == nil {
            try Task.checkCancellation()
            newcomer = try? await wallet.openSession()
        }
        guard case .instruct(.pinValid) = try await newcomer?.instruct(pin: "135790") else {
            Issue.record("a newcomer is not served")
            return
        }
        flood.stop()
        await flooding
        let progress = flood.progress
        #expect(progress.closedByServer > 0)
        // Client hellos were answered: the flood made the server do what costs it most.
        #expect(progress.bytesReceived > 10_000)
        _ = await server.terminate()
        let lines = server.output.split(separator: "\n").filter { $0.contains("no TLS connection") }
        #expect(!lines.isEmpty && lines.count < 200, "\(lines.count) lines for \(progress.opened) connections")
    }

    @Test("the program floods loopback, says what it did and ends by itself")
    func program() async throws {
        let lab = FloodedLab()
        let server = try await lab.serve()
        let run = try await ServerProcess.run(
            "pin-load",
            [
                "flood", "--lab", "\(lab.folder)/lab", "--rate", "200", "--held", "50", "--duration", "2s", "--kinds",
                "half-open,garbage",
            ]
        )
        #expect(run.exitCode == 0, "\(run.output)")
        #expect(run.output.contains("flood ended: ") && run.output.contains("from 127.0.0.0/16: half-open, garbage"))
        await server.kill()
    }

    @Test("another machine is flooded only where its owner is named, and never from loopback addresses")
    func otherMachines() async throws {
        let ca = FileManager.default.temporaryDirectory.appendingPathComponent("flood-ca-\(UUID().uuidString).pem")
        try LabAuthority().tlsAuthorityPEM.write(to: ca, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: ca) }
        let target = ["flood", "--address", "192.0.2.1:7400", "--ca", ca.path]
        let unnamed = try await ServerProcess.run("pin-load", target)
        #expect(unnamed.exitCode == 1 && unnamed.output.contains("--i-own-this-server"))
        let loopback = try await ServerProcess.run(
            "pin-load",
            target + ["--i-own-this-server", "192.0.2.1", "--sources", "127.0.0.0/16"]
        )
        #expect(loopback.exitCode == 1 && loopback.output.contains("another one"))
    }
}
