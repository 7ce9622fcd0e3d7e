import Foundation
import HostSystem
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@testable import LoadEngine

@Suite("The command pin-load provision")
struct ProvisionTests {
    private let lab: LoadLab

    init() async throws {
        self.lab = try await LoadLab()
    }

    private func arguments(_ wallets: Int, _ more: String...) -> [String] {
        ["provision", "--lab", self.lab.path, "--wallets", "\(wallets)", "--out", self.lab.wallets] + more
    }

    /// Expects that every wallet of the file is registered once and that its PIN is right.
    private func expectWallets(_ count: Int) async throws {
        let target = try Target(lab: self.lab.path)
        let fleet = try Fleet.open(self.lab.wallets, for: target.fingerprint)
        #expect(fleet.count == count && fleet.gaps.isEmpty && fleet.tornCount == 0)
        #expect(try Set((0..<fleet.count).map { try fleet[$0].walletID }).count == count)
        for index in stride(from: 0, to: count, by: 7) {
            let session = try await fleet.session(index, at: target)
            guard case .pinValid = try await session.check(.right) else {
                Issue.record("wallet \(index): the right PIN is not valid")
                continue
            }
            session.close()
        }
    }

    /// A rate so low that no registration completes before a signal arrives, however late.
    private static let slow = [
        "REMOTE_PIN_LIMITS_FRAMES_PER_SOURCE": "20", "REMOTE_PIN_LIMITS_FRAME_BURST_PER_SOURCE": "100",
    ]

    /// Uses one connection, with which the rate limit still allows registrations.
    private func slowly(_ wallets: Int) -> [String] { self.arguments(wallets, "--connections", "1") }

    @Test("a registration that is killed, interrupted and restarted ends with every wallet, once")
    func killed() async throws {
        let slow = try await self.lab.start(Self.slow)
        let running = try await ServerProcess.start(self.slowly(1000), of: "pin-load", until: " left")
        await running.kill()
        let after = try DurableFile.read(self.lab.wallets, atMost: 1 << 20)
        #expect(after.count == FleetHeader.end + 1000 * FleetRecord.byteCount)

        let second = try await ServerProcess.start(self.slowly(1000), of: "pin-load", until: " left")
        #expect(second.output.contains("exist already"), "\(second.output)")
        second.send(SIGINT)
        #expect(await second.ended() == 130, "\(second.output)")
        #expect(second.output.contains("Interrupted; run the same command to continue."))

        await slow.terminate()
        let server = try await self.lab.start()
        let third = try await ServerProcess.run("pin-load", self.arguments(1000))
        #expect(third.exitCode == 0, "\(third.output)")
        try await self.expectWallets(1000)
        let enough = try await ServerProcess.run("pin-load", self.arguments(50))
        #expect(enough.exitCode == 0 && enough.output.contains("1,000 of 1,000 wallets are in the file"))
        await server.terminate()
    }

    @Test("a registration waits for a restarted server and repeats the calls without a response")
    func serverRestarts() async throws {
        let server = try await self.lab.start()
        let running = try await ServerProcess.start(self.arguments(500), of: "pin-load", until: " left")
        await server.kill()
        let again = try await self.lab.start()
        #expect(await running.ended() == 0, "\(running.output)")
        try await self.expectWallets(500)
        await again.terminate()
    }

    @Test("two processes never use the same wallets")
    func twoProcesses() async throws {
        let server = try await self.lab.start(Self.slow)
        let first = try await ServerProcess.start(self.slowly(2000), of: "pin-load", until: "registering")
        let second = try await ServerProcess.run("pin-load", self.arguments(2000))
        #expect(second.exitCode == 75)
        #expect(second.output.contains("process \(first.processID) is using these wallets"), "\(second.output)")
        await first.kill()
        await server.terminate()
    }

    @Test("an expired token is replaced by a new one")
    func expiredToken() async throws {
        let server = try await self.lab.start()
        let target = try Target(lab: self.lab.path)
        let fleet = try Fleet.create(at: self.lab.wallets, wallets: 1, fingerprint: target.fingerprint)
        let registrar = try Registrar(for: fleet, at: target)
        let connection = try await target.connect(tls: try target.tls(resuming: false), timeout: LoadLab.patience)
        try await Registrar.greet(connection, timeout: LoadLab.patience)
        guard
            case .beginEnrollment(let enrollment) = try await connection.call(
                .beginEnrollment,
                timeout: LoadLab.patience
            )
        else {
            Issue.record("no enrollment")
            return
        }
        let clock = ["admin", "clock", "advance", "10m", "--lab", self.lab.path]
        #expect(try await ServerProcess.run("remote-pin-server", clock).exitCode == 0)
        let late = registrar.call(enrollment, .iOS, attempt: 0, on: connection)
        guard case .refused(let refusal) = try await connection.call(.register(late), timeout: LoadLab.patience) else {
            Issue.record("an expired token was accepted")
            return
        }
        #expect(refusal.reason == .challengeInvalid)
        let provisioning = try FleetProvisioner(fleet, goal: 1, at: target, options: FleetProvisioner.Options())
        try await provisioning.run()
        #expect(provisioning.progress.registered == 1)
        await server.terminate()
    }

    @Test(
        "invalid input is rejected with a remedy and the documented exit code",
        arguments: [
            (["provision"], 1, "--lab DIR"),
            (["provision", "--lab", "LAB", "--wallets", "0", "--out", "x"], 1, "1 to 100M"),
            (["provision", "--lab", "LAB", "--wallets", "5", "--out", "x", "--ios", "130%"], 1, "0% to 100%"),
            (["provision", "--lab", "/nowhere", "--wallets", "5", "--out", "x"], 1, "lab up /nowhere"),
            (["provision", "--lab", "LAB", "--wallets", "5", "--out", "x"], 1, "the lab was never served"),
            (
                ["provision", "--address", "192.0.2.1:7443", "--ca", "CA", "--wallets", "5", "--out", "x"], 1,
                "--i-own-this-server 192.0.2.1"
            ),
            (
                ["provision", "--address", "127.0.0.1:1", "--ca", "CA", "--wallets", "5", "--out", "x"], 1,
                "--authority"
            ),
            (
                [
                    "provision", "--address", "127.0.0.1:1", "--ca", "CA", "--authority", "AUTHORITY", "--wallets", "5",
                    "--out", "OUT", "--patience", "1s",
                ], 69, "nothing listens there"
            ),
            (["nonsense"], 1, "nonsense"),
        ]
    )
    func rejected(arguments: [String], exitCode: Int32, words: String) async throws {
        let names = [
            "LAB": self.lab.path, "CA": "\(self.lab.path)/authority/tls-ca.pem",
            "AUTHORITY": "\(self.lab.path)/authority", "OUT": self.lab.wallets,
        ]
        let run = try await ServerProcess.run("pin-load", arguments.map { names[$0] ?? $0 })
        #expect(run.exitCode == exitCode)
        #expect(run.output.contains(words), "\(run.output)")
        #expect(!DurableFile.exists("x"))
    }
}

@Suite("The plan and progress of a registration")
struct ProvisioningPlanTests {
    @Test("the share of iPhones is right in any range", arguments: ["0%", "12.5%", "30%", "50%", "100%"])
    func share(text: String) throws {
        let share = try #require(PlatformShare(text))
        #expect("\(share)" == text)
        for stretch in [0..<1000, 500..<1500, 123_000..<124_000] {
            let count = stretch.count { share.platform(of: $0) == .iOS }
            #expect(count == share.thousandthsOfIOS)
        }
        let few = (0..<20).count { share.platform(of: $0) == .iOS }
        #expect(abs(few - share.thousandthsOfIOS * 20 / 1000) <= 1)
    }

    @Test("invalid shares are rejected", arguments: ["30", "-1%", "101%", "0.05%", "%", "x%", ""])
    func invalidShare(text: String) {
        #expect(PlatformShare(text) == nil)
    }

    @Test("the rate is that of the sliding window")
    func rate() {
        var meter = RateMeter(window: .seconds(10))
        #expect(meter.perSecond == 0 && meter.time(for: 5) == nil)
        for second in 0...20 { meter.note(second * 100, at: .seconds(second)) }
        #expect(meter.perSecond == 100)
        for second in 21...40 { meter.note(2000 + (second - 20) * 10, at: .seconds(second)) }
        #expect(meter.perSecond == 10 && meter.time(for: 95) == .seconds(10))
        for second in 41...60 { meter.note(2200, at: .seconds(second)) }
        #expect(meter.time(for: 1) == nil)
    }

    @Test("every wrong variant is a different PIN and never the right one")
    func wrongVariants() {
        let right: UInt64 = 987_654
        var seen: Set<UInt64> = [right]
        for variant in 0..<UInt32(FleetKeys.pins - 1) { seen.insert(PINChoice.wrong(variant).number(right: right)) }
        #expect(seen.count == Int(FleetKeys.pins))
        #expect(PINChoice.right.number(right: right) == right)
    }

    @Test(
        "only this machine is loopback",
        arguments: [
            ("127.0.0.1:1", true), ("127.8.9.1:1", true), ("[::1]:1", true), ("localhost:1", true),
            ("127.0.0.1.example.org:1", false), ("127.example.org:1", false), ("10.0.0.1:1", false), ("[::2]:1", false),
            ("128.0.0.1:1", false), ("127.0.0:1", false),
        ]
    )
    func loopback(address: String, isLoopback: Bool) throws {
        let folder = TemporaryFolder()
        let target = try Target(address: address, caFile: try folder.write("x", to: "ca"))
        #expect(target.isLoopback == isLoopback)
        #expect(target.address == address)
    }

    @Test("an invalid address is rejected", arguments: ["", "x", "x:", ":1", "x:0", "x:70000", "::1:5", "[::1]"])
    func invalidAddress(text: String) {
        #expect(throws: Target.Problem.address(text)) { try Target(address: text, caFile: "/dev/null") }
    }
}
