import LabFiles
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

/// The real server behind a load balancer that sends PROXY protocol headers.
@Suite("Behind a balancer, with the real programs")
struct BalancerProgramTests {
    private let lab: LabUnderTest
    private static let pin = "135790"
    private static let settings = [
        "REMOTE_PIN_PROXY_PROTOCOL_FROM": "127.0.0.1/32,::1/128", "REMOTE_PIN_LOG_FILE": "none",
        "REMOTE_PIN_LOG_LEVEL": "debug",
    ]

    init() async throws {
        self.lab = try await LabUnderTest()
    }

    private func sources() async throws -> [String] {
        let run = try await ServerProcess.run(
            "remote-pin-server",
            ["admin", "sessions", "--json", "--lab", self.lab.lab.path]
        )
        try #require(run.exitCode == 0, "\(run.output)")
        return try JSONValue(run.output)["sessions"].orThrow().array.compactMap { $0["source"]?.string }
    }

    private func wallet(behind balancer: Balancer) async throws -> TestWallet {
        let folder = "\(self.lab.folder)/devices"
        return try await TestWallet.register(at: TestServer(lab: balancer.folder), folder: folder, pin: Self.pin)
    }

    @Test(
        "a wallet is set up and opens through the balancer; sessions and the log show the source from the header",
        arguments: [
            ("127.0.0.1:0", "127.0.0.1", BalancerHeader.ipv4(7), "192.0.2.7", "192.0.2.7:8080"),
            ("127.0.0.1:0", "127.0.0.1", BalancerHeader.ipv6(9), "2001:db8:1:2::/64", "[2001:db8:1:2::9]:8080"),
            ("[::1]:0", "::1", BalancerHeader.ipv6(9), "2001:db8:1:2::/64", "[2001:db8:1:2::9]:8080"),
        ] as [(listen: String, balancer: String, header: [UInt8], source: String, peer: String)]
    )
    func named(listen: String, balancer: String, header: [UInt8], source: String, peer: String) async throws {
        let server = try await self.lab.start(Self.settings.merging(["REMOTE_PIN_LISTEN_ADDRESS": listen]) { $1 })
        let balancer = try await Balancer(before: self.lab, saying: header, from: balancer)
        let phone = CommandLinePhone(in: self.lab)
        let setUp = try await phone.run("setup", "--code-written-down", pins: [Self.pin], at: balancer.folder)
        #expect(setUp.exitCode == 0, "\(setUp.output)")
        let wrong = try await phone.run("unlock", pins: ["864209"], at: balancer.folder)
        #expect(wrong.exitCode == 10, "\(wrong.output)")
        let unlock = try await phone.run("unlock", pins: [Self.pin], at: balancer.folder)
        #expect(unlock.exitCode == 0, "\(unlock.output)")
        let session = try await self.wallet(behind: balancer).openSession()
        #expect(try await self.sources() == [source])
        _ = try await session.check("000000")
        #expect(await server.writes("wrong PIN"))
        let told = server.output.split(separator: "\n").filter { $0.contains("peer=") }
        #expect(told.count > 5 && told.allSatisfy { $0.contains("peer=\(peer)") }, "\(told)")
        #expect(await server.terminate() == 0)
    }

    @Test("a header from an unlisted address and a listed address without a header are rejected, and both are counted")
    func refused() async throws {
        let server = try await self.lab.start(Self.settings)
        let observed = try ObservedServer(server)
        let failures = "remote_pin_handshake_failures_total"
        for (header, from, reason) in [
            (BalancerHeader.ipv4(7), "127.0.0.2", "broken"), ([], "127.0.0.1", "proxy_header"),
            (Array("PROXY TCP4 192.0.2.7 198.51.100.1 8080 443\r\n".utf8), "127.0.0.1", "proxy_header"),
        ] as [([UInt8], String, String)] {
            let series = "\(failures){reason=\"\(reason)\"}"
            let before = try #require(try await observed.value(series))
            let balancer = try await Balancer(before: self.lab, saying: header, from: from)
            await #expect(throws: (any Error).self, "\(from)") { try await TestServer(lab: balancer.folder).connect() }
            #expect(try await observed.value(series) == before + 1, "\(from)")
        }
        // None of these connections was counted under another source.
        #expect(!server.output.contains("peer=192.0.2.7"))
        let honest = try await Balancer(before: self.lab, saying: BalancerHeader.ipv4(8))
        #expect(try await self.wallet(behind: honest).openSession().check(Self.pin).isValid)
        // A client that bypasses the balancer from an unlisted address needs no header.
        let past = try await Balancer(before: self.lab, saying: [], from: "127.0.0.2")
        #expect(try await self.wallet(behind: past).openSession().check(Self.pin).isValid)
        #expect(await server.terminate() == 0)
    }

    @Test("the balancer's health check is not a failure, and its own connection counts as its own source")
    func healthCheck() async throws {
        let server = try await self.lab.start(Self.settings)
        let observed = try ObservedServer(server)
        let before = try await observed.metrics().split(separator: "\n").filter { $0.contains("handshake_failures") }
        for _ in 0..<20 {
            let check = try await RawClient(port: LabFile(of: self.lab.lab).port)
            await check.send(BalancerHeader.local)
            check.close()
            await check.closed()
        }
        let own = try await Balancer(before: self.lab, saying: BalancerHeader.local)
        let wallet = try await self.wallet(behind: own)
        let session = try await wallet.openSession()
        #expect(try await self.sources() == ["127.0.0.1"])
        #expect(try await session.check(Self.pin).isValid)
        try await poll { try await observed.value("remote_pin_handshakes_in_progress") == 0 }
        let after = try await observed.metrics().split(separator: "\n").filter { $0.contains("handshake_failures") }
        #expect(after == before)
        #expect(await server.terminate() == 0)
    }

    /// The number of calls that a connection may make before one is rate-limited.
    private func callsUntilLimited(of connection: ClientConnection) async -> Int? {
        for count in 0..<100 {
            let answer = await connection.answer(.reportWipe)
            if answer == .refused(.rateLimited(retryAfter: .seconds(1))) { return count }
        }
        return nil
    }

    @Test("two sources behind one balancer have separate allowances: a flood from one leaves the other's untouched")
    func allowances() async throws {
        let server = try await self.lab.start(
            Self.settings.merging([
                "REMOTE_PIN_LIMITS_FRAMES_PER_SOURCE": "1", "REMOTE_PIN_LIMITS_FRAME_BURST_PER_SOURCE": "20",
                "REMOTE_PIN_LIMITS_CONNECTIONS_PER_SOURCE": "4",
            ]) { $1 }
        )
        let flooding = try await Balancer(before: self.lab, saying: BalancerHeader.ipv4(1))
        let other = try await Balancer(before: self.lab, saying: BalancerHeader.ipv4(2))
        let honest = try await self.wallet(behind: other).openSession()
        let flooder = try await TestServer(lab: flooding.folder).connect()
        #expect(await self.callsUntilLimited(of: flooder) != nil)
        // Another connection of that source gets only the part of the allowance restored since, not a new burst.
        let again = try await TestServer(lab: flooding.folder).connect()
        #expect(try #require(await self.callsUntilLimited(of: again)) < 20)
        #expect(try await honest.check(Self.pin).isValid)
        #expect(try await self.wallet(behind: other).openSession().check(Self.pin).isValid)
        #expect(server.output.contains("source=192.0.2.1") && !server.output.contains("source=192.0.2.2"))
        // The limit on connections is also separate: the flooding source uses up only its own.
        let crowd = try await Balancer(before: self.lab, saying: BalancerHeader.ipv6(3))
        var held: [ClientConnection] = []
        while held.count < 10, let more = try? await TestServer(lab: crowd.folder).connect() { held.append(more) }
        #expect(held.count == 4)
        #expect(try await self.wallet(behind: other).openSession().check(Self.pin).isValid)
        for connection in held { connection.close() }
        #expect(await server.terminate() == 0)
    }
}
