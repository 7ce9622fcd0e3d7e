import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing
import Vocabulary
import Wire

/// The real server as a service manager sees it.
@Suite("The server under a service manager")
struct SupervisionTests {
    private let lab: LabUnderTest
    private let receiver: DatagramReceiver
    private let socket: String

    init() async throws {
        self.lab = try await LabUnderTest()
        self.socket = "\(self.lab.folder)/notify"
        self.receiver = try DatagramReceiver(self.socket)
    }

    private func start(_ more: [String: String] = [:]) async throws -> ServerProcess {
        try await self.lab.start(
            LabUnderTest.sixteenAttempts.merging(["NOTIFY_SOCKET": self.socket]) { $1 }.merging(more) { $1 }
        )
    }

    @Test("systemd is notified of ready, reloading, ready and stopping; an invalid certificate appears in the status")
    func life() async throws {
        let server = try await self.start()
        #expect(await self.receiver.next().hasPrefix("READY=1\nSTATUS=serving wallets on 127.0.0.1:"))
        _ = try await self.lab.register(pin: "135790")
        server.send(SIGHUP)
        #expect(await self.receiver.next().hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(await self.receiver.next() == "READY=1\nSTATUS=serving wallets")
        try DurableFile.write(Array("no certificate".utf8), to: self.lab.lab.certificateFile)
        server.send(SIGHUP)
        #expect(await self.receiver.next().hasPrefix("RELOADING=1"))
        #expect(await self.receiver.next().contains("the old certificate stays"))
        server.send(SIGTERM)
        #expect(await self.receiver.next().hasPrefix("STOPPING=1\nSTATUS=draining"))
        #expect(await server.ended() == 0)
        #expect(server.output.contains("stopped"))
    }

    @Test("the server notifies the watchdog while it works")
    func watchdog() async throws {
        let server = try await self.start(["WATCHDOG_USEC": "100000"])
        var heard: [String] = []
        while heard.filter({ $0 == "WATCHDOG=1" }).count < 4 {
            heard.append(await self.receiver.next())
            try #require(heard.last != "")
        }
        #expect(await server.terminate() == 0)
    }

    @Test("at shutdown clients are asked to reconnect later, and the verdict of a call in progress is not lost")
    func drain() async throws {
        let server = try await self.start()
        let wallet = try await self.lab.register(pin: "135790")
        let session = try await wallet.openSession()
        // Sent, and perhaps judged, before the signal: it is answered or not at all.
        async let checked = session.check("135790")
        server.send(SIGTERM)
        let answer = try await checked
        #expect(answer == .closed || answer == wallet.unlockShare.asValid)
        #expect(await server.ended() == 0)
        let again = try await self.start()
        #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        #expect(await again.terminate() == 0)
    }

    @Test("an idle connection gets `unavailable` with id 0 and a retry time before it is closed")
    func goodbye() async throws {
        let server = try await self.start(["REMOTE_PIN_LOG_LEVEL": "debug"])
        let peer = try SilentClient(to: self.lab.lab)
        #expect(await server.writes("debug connected"))
        server.send(SIGTERM)
        let frames = await peer.frames()
        #expect(frames.count == 1)
        let response = try Response(decoding: try frames.first.orThrow())
        #expect(response.id == 0)
        guard case .refused(let refusal) = response.result, case .unavailable(let wait) = refusal.reason else {
            Issue.record("\(response)")
            return
        }
        #expect(wait > .zero)
        #expect(await server.ended() == 0)
    }

    @Test("during drain.delay the server still accepts connections; a second signal ends it at once")
    func second() async throws {
        let server = try await self.start(["REMOTE_PIN_DRAIN_DELAY": "5m"])
        let wallet = try await self.lab.register(pin: "135790")
        server.send(SIGTERM)
        #expect(await server.writes("notice stopping"))
        #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        server.send(SIGTERM)
        #expect(await server.ended() == 128 + SIGTERM)
        #expect(server.output.contains("ending at once"))
        let again = try await self.start()
        #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        #expect(await again.terminate() == 0)
    }

    @Test("a client that keeps its connection open is disconnected after drain.limit, and the server ends")
    func limit() async throws {
        let server = try await self.start(["REMOTE_PIN_DRAIN_LIMIT": "100ms", "REMOTE_PIN_LOG_LEVEL": "debug"])
        let peer = try SilentClient(to: self.lab.lab)
        #expect(await server.writes("debug connected"))
        peer.freeze()
        server.send(SIGTERM)
        #expect(await server.ended() == 0)
        withExtendedLifetime(peer) {}
    }
}
