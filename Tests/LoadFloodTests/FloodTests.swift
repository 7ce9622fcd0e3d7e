import Foundation
import Lab
import LoadEngine
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("The source addresses of a flood")
struct SourceNetworkTests {
    @Test(
        "a network within 127.0.0.0/8 is accepted",
        arguments: [
            "127.0.0.0/16", "127.0.0.0/8", "127.1.2.3", "127.1.2.3/32", "127.128.0.0/9",
        ]
    )
    func accepted(text: String) throws {
        let network = try #require(SourceNetwork(text))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<100 { #expect(network.address(using: &generator).hasPrefix("127.")) }
    }

    @Test(
        "other networks are rejected",
        arguments: [
            "10.0.0.0/8", "0.0.0.0/0", "126.0.0.0/7", "127.0.0.1/16", "127.0.0.0/7", "127.0.0.0/33", "::1", "127.0.0",
            "",
        ]
    )
    func rejected(text: String) {
        #expect(SourceNetwork(text) == nil)
    }

    @Test("addresses cover the network and never leave it")
    func spread() throws {
        let network = try #require(SourceNetwork("127.9.8.0/24"))
        var generator = SystemRandomNumberGenerator()
        let addresses = Set((0..<2_000).map { _ in network.address(using: &generator) })
        #expect(addresses.count > 200)
        #expect(addresses.allSatisfy { $0.hasPrefix("127.9.8.") })
    }
}

/// A served lab in a separate folder.
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
    @Test("sessions continue, new clients get in, and the log stays short", .timeLimit(.minutes(5)))
    func sessionsContinue() async throws {
        let lab = FloodedLab()
        let server = try await lab.serve(["REMOTE_PIN_LIMITS_HANDSHAKES": "100"])
        let start = ContinuousClock.now
        let wallet = try await lab.wallet()
        let session = try await wallet.openSession()
        let plan = FloodPlan(
            kinds: FloodKind.allCases,
            sources: SourceNetwork("127.0.0.0/16"),
            rate: 300,
            held: 500,
            // Longer than the test's time limit: the flood does not end before the test.
            duration: .seconds(600)
        )
        let flood = Flood(plan, host: "127.0.0.1", port: wallet.server.port)
        async let flooding: Void = flood.run()
        var checks = 0
        while flood.progress.opened < 900 || checks < 20 {
            guard case .instruct(.pinValid) = try await session.instruct(pin: "135790") else {
                Issue.record("a session was interrupted")
                break
            }
            checks += 1
        }
        // A new client competes for handshakes. On a busy machine its handshake may be evicted as the oldest of many.
        var newClient: TestSession?
        while newClient == nil {
            try Task.checkCancellation()
            newClient = try? await wallet.openSession()
        }
        guard case .instruct(.pinValid) = try await newClient?.instruct(pin: "135790") else {
            Issue.record("a new client is not served")
            return
        }
        flood.stop()
        await flooding
        let progress = flood.progress
        #expect(progress.closedByServer > 0)
        // The server answered client hellos: the flood made it do its most expensive work.
        #expect(progress.bytesReceived > 10_000)
        _ = await server.terminate()
        let lines = server.output.split(separator: "\n").filter { $0.contains("no TLS connection") }
        // 20 lines in each 10 seconds; one interval has begun before the first, and the last has not ended.
        let allowed = 20 * (Int((ContinuousClock.now - start) / .seconds(10)) + 2)
        #expect(
            !lines.isEmpty && lines.count <= allowed,
            "\(lines.count) lines of \(allowed) for \(progress.opened) connections"
        )
    }

    @Test("the program floods loopback, reports the result and ends")
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

    @Test("a flood of another machine requires its owner's name, and never uses loopback addresses")
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
