import SimulatedPhone
import FoundationEssentials
import HostSystem
import Lab
import Secrets
import Synchronization
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletCore
import Wire

/// A TLS server on loopback that answers BeginEnrollment with the channel binding and records all
/// calls.
private final class CountingServer: Sendable {
    let folder: String
    let authority = LabAuthority()
    private let seen = Mutex<[String]>([])

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "network-\(WalletID.random())").path
        let (chain, key) = self.authority.issueTLSServerCertificate(names: ["localhost"])
        try DurableFile.makeFolder(self.folder)
        try DurableFile.write(Array(chain.utf8), to: self.folder + "/server.pem")
        try DurableFile.write(Array(key.utf8), to: self.folder + "/server.key")
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    /// The calls that reached the server, in order.
    var calls: [String] { self.seen.withLock { $0 } }

    func phone(_ change: (inout DeviceProfile) -> Void) throws -> SimulatedDevice {
        var profile = DeviceProfile(.android)
        change(&profile)
        return try SimulatedDevice(
            folder: self.folder + "/device",
            authorityFolder: self.folder,
            clock: SystemClock(),
            new: profile
        )
    }

    /// Runs `body` with a network of this phone while the server listens.
    func serve(
        _ change: (inout DeviceProfile) -> Void = { _ in },
        wait: @escaping SimulatedNetwork.Wait = SimulatedNetwork.realTime,
        _ body: @escaping @Sendable (SimulatedNetwork, SimulatedDevice) async throws -> Void
    ) async throws {
        let device = try self.phone(change)
        let tls = try TLSServerContext(
            certificateFile: self.folder + "/server.pem",
            keyFile: self.folder + "/server.key"
        )
        let listener = try await RPCListener.bind(host: "127.0.0.1", port: 0, tls: tls)
        let network = SimulatedNetwork(try self.dialer(port: listener.port), of: device, wait: wait)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.serve { await self.answer($0) } }
            defer { listener.stop() }
            try await body(network, device)
        }
    }

    func dialer(port: Int) throws -> TLSDialer {
        let trust = TLSDialer.Server.Trust.authority(pem: Array(self.authority.tlsAuthorityPEM.utf8))
        return try TLSDialer(TLSDialer.Server(host: "127.0.0.1", port: port, name: "localhost", trust: trust))
    }

    private func answer(_ connection: ServerConnection) async {
        while case .request(let request) = await connection.next() {
            self.seen.withLock { $0.append(Self.name(request.call)) }
            var result = CallResult.refused(Refusal(.notAllowed))
            if case .beginEnrollment = request.call {
                let token = connection.channelBinding.bytes
                let expiry = Timestamp(milliseconds: 0)
                result = .beginEnrollment(Enrollment(token: token, walletID: .random(), expiresAt: expiry))
            }
            guard await connection.send(Response(id: request.id, result: result)) else { return }
        }
    }

    private static func name(_ call: Call) -> String {
        if case .beginEnrollment = call { "begin-enrollment" } else { "report-wipe" }
    }
}

@Suite("A simulated phone's network")
struct SimulatedNetworkTests {
    private let server: CountingServer

    init() throws {
        self.server = try CountingServer()
    }

    private static func token(_ line: any CallChannel) async throws(CallError) -> [UInt8] {
        guard case .beginEnrollment(let enrollment) = try await line.call(.beginEnrollment) else { return [] }
        return enrollment.token
    }

    @Test("TLS runs end to end: both ends export the same channel binding")
    func binding() async throws {
        try await self.server.serve { network, _ in
            let line = try await network.dial()
            #expect(try await Self.token(line) == line.channelBinding.bytes)
            #expect(network.address.hasPrefix("127.0.0.1:"))
            let both = await line.callInOrder([.beginEnrollment, .reportWipe])
            #expect(both.count == 2)
            await line.close()
        }
        #expect(self.server.calls == ["begin-enrollment", "begin-enrollment", "report-wipe"])
    }

    @Test(
        "without a network no connection is opened, and an open one ends",
        arguments: [
            (DeviceProfile.Network.off, DialError.noInternet), (.unreachable, .unreachable(.connectionTimedOut)),
        ]
    )
    func states(network state: DeviceProfile.Network, error: DialError) async throws {
        try await self.server.serve { network, device in
            let line = try await network.dial()
            try device.update { $0.network = state }
            await #expect(throws: CallError.closed) { try await Self.token(line) }
            await #expect(throws: error) { _ = try await network.dial() }
            let both = await line.callInOrder([.beginEnrollment, .reportWipe])
            #expect(both.allSatisfy { if case .failure(.closed) = $0 { true } else { false } })
            try device.update { $0.network = .on }
            _ = try await Self.token(network.dial())
        }
        #expect(self.server.calls == ["begin-enrollment"])
    }

    @Test(
        "a lost reply: the call reaches the server once, answer and connection are lost, and the next connection works"
    )
    func lostReply() async throws {
        try await self.server.serve({ $0.conditions = [.loseReply(to: nil)] }) { network, device in
            let line = try await network.dial()
            await #expect(throws: CallError.closed) { try await Self.token(line) }
            await #expect(throws: CallError.closed) { try await Self.token(line) }
            #expect(device.profile.conditions.isEmpty)
            _ = try await Self.token(network.dial())
        }
        #expect(self.server.calls == ["begin-enrollment", "begin-enrollment"])
    }

    @Test("a lost reply for a certain call waits for that call, also among calls sent together")
    func namedReply() async throws {
        try await self.server.serve({ $0.conditions = [.loseReply(to: .reportWipe), .delay(milliseconds: 1)] }) {
            network,
            device in
            let line = try await network.dial()
            _ = try await Self.token(line)
            let results = await line.callInOrder([.beginEnrollment, .reportWipe, .beginEnrollment])
            guard case .success = results[0], case .failure(.closed) = results[1], case .failure(.closed) = results[2]
            else {
                Issue.record("\(results)")
                return
            }
            #expect(device.profile.conditions == [.delay(milliseconds: 1)])
        }
        #expect(self.server.calls == ["begin-enrollment", "begin-enrollment", "report-wipe"])
    }

    @Test("a delayed call is answered after the delay, and the next one at once")
    func delay() async throws {
        let waits = Mutex<[Duration]>([])
        try await self.server.serve(
            { $0.conditions = [.delay(milliseconds: 19_999)] },
            wait: { time in waits.withLock { $0.append(time) } }
        ) { network, device in
            let line = try await network.dial()
            _ = try await Self.token(line)
            #expect(waits.withLock { $0 } == [.milliseconds(19_999)])
            #expect(device.profile.conditions.isEmpty)
            _ = try await Self.token(line)
            #expect(waits.withLock(\.count) == 1)
        }
    }

    @Test("a delay as long as the wallet's time limit loses the answer of a call that the server has executed")
    func tooLate() async throws {
        let waits = Mutex<[Duration]>([])
        try await self.server.serve(
            { $0.conditions = [.delay(milliseconds: 600_000)] },
            wait: { time in waits.withLock { $0.append(time) } }
        ) { network, _ in
            let line = try await network.dial()
            await #expect(throws: CallError.timedOut) { try await Self.token(line) }
            await #expect(throws: CallError.closed) { try await Self.token(line) }
            #expect(waits.withLock { $0 } == [TLSDialer.callLimit])
            _ = try await Self.token(network.dial())
        }
        #expect(self.server.calls == ["begin-enrollment", "begin-enrollment"])
    }

    @Test("a connection that is not trusted is unreachable, with the reason")
    func trust() async throws {
        try await self.server.serve { network, _ in
            let address = network.address.split(separator: ":")
            let port = try #require(address.last.flatMap { Int($0) })
            func cause(_ name: String, _ trust: TLSDialer.Server.Trust) async throws -> FailureCause? {
                let dialer = try TLSDialer(TLSDialer.Server(host: "127.0.0.1", port: port, name: name, trust: trust))
                do {
                    try await dialer.dial().close()
                    return nil
                } catch DialError.unreachable(let cause) {
                    return cause
                }
            }
            let ours = TLSDialer.Server.Trust.authority(pem: Array(self.server.authority.tlsAuthorityPEM.utf8))
            #expect(try await cause("localhost", ours) == nil)
            #expect(try await cause("elsewhere.example", ours) == .certificateName)
            let other = try CountingServer()
            let theirs = TLSDialer.Server.Trust.authority(pem: Array(other.authority.tlsAuthorityPEM.utf8))
            #expect(try await cause("localhost", theirs) == .certificateUntrusted)
            let otherKey = try #require(SHA256Digest(Array(repeating: 7, count: 32)))
            #expect(try await cause("localhost", .publicKeys([otherKey])) == .certificateUntrusted)
        }
    }

    @Test("a cut ends the connection after its bytes, in the handshake or a call, and the next connection works")
    func cuts() async throws {
        try await self.server.serve { network, device in
            var (dialsCut, callsCut, survived) = (0, 0, 0)
            for byteCount in [0, 1, 100, 1000, 2000, 3000, 4000, 100_000] {
                try device.update { $0.conditions = [.cut(afterByteCount: byteCount)] }
                do {
                    let line = try await network.dial()
                    do { _ = try await Self.token(line); survived += 1 } catch CallError.closed { callsCut += 1 }
                    await line.close()
                } catch DialError.unreachable(_) {
                    dialsCut += 1
                }
                #expect(device.profile.conditions.isEmpty)
                _ = try await Self.token(network.dial())
            }
            #expect(dialsCut >= 3 && survived >= 1, "\(dialsCut) \(callsCut) \(survived)")
        }
    }

    @Test("an open connection can be cut: with no byte left the next call does not arrive")
    func liveCut() async throws {
        try await self.server.serve { network, device in
            let line = try await network.dial()
            _ = try await Self.token(line)
            try device.update { $0.conditions = [.cut(afterByteCount: 0)] }
            await #expect(throws: CallError.closed) { try await Self.token(line) }
            try device.update { $0.conditions = [.cut(afterByteCount: 10)] }
            await #expect(throws: DialError.self) { _ = try await network.dial() }
        }
        #expect(self.server.calls == ["begin-enrollment"])
    }

    @Test("without a listening server the server is unreachable, as without the simulation")
    func nobody() async throws {
        let probe = try await RPCListener.bind(
            host: "127.0.0.1",
            port: 0,
            tls: TLSServerContext(
                certificateFile: self.server.folder + "/server.pem",
                keyFile: self.server.folder + "/server.key"
            )
        )
        let port = probe.port
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await probe.serve { _ in } }
            probe.stop()
        }
        let network = SimulatedNetwork(try self.server.dialer(port: port), of: try self.server.phone { _ in })
        await #expect(throws: DialError.self) { _ = try await network.dial() }
    }

    @Test("concurrent connections are not mixed up")
    func load() async throws {
        try await self.server.serve { network, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let line = try await network.dial()
                        for _ in 0..<50 { #expect(try await Self.token(line) == line.channelBinding.bytes) }
                        await line.close()
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(self.server.calls.count == 400)
    }
}
