import ServerTestSupport
import Synchronization
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("A full connection table")
struct FullTableTests {
    private static let sources = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"]
    private static let places = 80

    @Test(
        "while four sources hold every place and take each free one, a wallet unlocks each time",
        .timeLimit(.minutes(5)),
        arguments: [false, true]
    )
    func unlocks(attackersHaveWallet: Bool) async throws {
        var options = InProcessServer.Options()
        options.limits.connections = Self.places
        options.limits.connectionsPerSource = Self.places / Self.sources.count
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let full = TestServer(
                host: "127.0.0.1",
                port: server.impatient.port,
                tls: server.endpoint.tls,
                authorityFolder: server.endpoint.authorityFolder,
                clock: server.clock
            )
            let early = try await Self.session(of: wallet, at: full)
            let opponent = attackersHaveWallet ? try await server.wallet() : nil
            let attack = Attack(on: full, from: Self.sources, count: Self.places, as: opponent)
            try await withThrowingTaskGroup { group in
                defer {
                    attack.stop()
                    server.impatient.stop()
                }
                group.addTask { await attack.run() }
                await attack.hasOpened(Self.places)
                // Tests/Faults measures the times.
                for _ in 0..<100 {
                    let session = try await Self.session(of: wallet, at: full)
                    let answer = try await session.check("135790")
                    session.connection.close()
                    #expect(answer.isValid)
                }
                // The attack displaced its own connections, which came again.
                #expect(attack.opened > Self.places)
                let answer = try await early.check("135790")
                #expect(answer.isValid)
            }
        }
    }

    private static func session(of wallet: TestWallet, at server: TestServer) async throws -> TestSession {
        let connection = try await server.greet()
        let call = try await wallet.sessionCall(on: connection)
        let result = try await connection.call(.openSession(call), timeout: TestWallet.patience)
        guard case .openSession(let opening) = result else { throw UnexpectedAnswer(result) }
        return TestSession(wallet: wallet, connection: connection, opening: opening)
    }
}

/// Connections that say hello and nothing more, or open a session of the same wallet; each one that the server closes
/// comes again.
private final class Attack: Sendable {
    private let server: TestServer
    private let sources: [String]
    private let count: Int
    private let wallet: TestWallet?
    private let counter = Atomic<Int>(0)
    private let isStopped = Atomic<Bool>(false)
    private let counts: AsyncStream<Int>
    private let source: AsyncStream<Int>.Continuation

    init(on server: TestServer, from sources: [String], count: Int, as wallet: TestWallet?) {
        self.wallet = wallet
        self.server = server
        self.sources = sources
        self.count = count
        (self.counts, self.source) = AsyncStream.makeStream()
    }

    /// The number of connections that were served.
    var opened: Int { self.counter.load(ordering: .relaxed) }

    /// Waits until this many connections have been served.
    func hasOpened(_ count: Int) async {
        for await opened in self.counts where opened >= count { return }
    }

    func stop() { self.isStopped.store(true, ordering: .relaxed) }

    func run() async {
        await withDiscardingTaskGroup { group in
            for number in 0..<self.count {
                group.addTask { await self.hold(from: self.sources[number % self.sources.count]) }
            }
        }
    }

    private func hold(from source: String) async {
        while !self.isStopped.load(ordering: .relaxed) {
            let connection = try? await ClientConnection.connect(
                host: self.server.host,
                port: self.server.port,
                tls: self.server.tls,
                timeout: .seconds(20),
                from: source
            )
            if let connection, await self.isServed(connection) {
                self.source.yield(self.counter.add(1, ordering: .relaxed).newValue)
                await connection.closed()
            }
            await Task.yield()
        }
    }

    private func isServed(_ connection: ClientConnection) async -> Bool {
        do {
            try await connection.greet()
            guard let wallet = self.wallet else { return true }
            let call = try await wallet.sessionCall(on: connection)
            guard case .openSession = try await connection.call(.openSession(call), timeout: .seconds(20)) else {
                return false
            }
            return true
        } catch {
            return false
        }
    }
}
