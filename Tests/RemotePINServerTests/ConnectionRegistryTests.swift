import Synchronization
import TestSupport
import Testing
import Transport
import Vault
import Vocabulary

@testable import RemotePINServer

/// A connection that records the calls on its handle and closes on request.
private final class RecordedConnection: Sendable {
    private struct State {
        var events: [String] = []
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    let id: UInt64
    /// Whether an abort closes the connection at once, as for a real one.
    private let closesWhenAborted: Bool

    init(_ id: UInt64, closesWhenAborted: Bool = true) {
        self.id = id
        self.closesWhenAborted = closesWhenAborted
    }

    var events: [String] { self.state.withLock { $0.events } }

    func finishClosing() {
        let waiting = self.state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    var handle: ConnectionHandle {
        ConnectionHandle(
            id: self.id,
            abort: {
                self.state.withLock { $0.events.append("abort") }
                if self.closesWhenAborted { self.finishClosing() }
            },
            allowDisplacement: { self.state.withLock { $0.events.append("unprotected") } },
            closed: {
                await withCheckedContinuation { continuation in
                    let isClosed = self.state.withLock { state in
                        if !state.isClosed {
                            state.events.append("wait")
                            state.waiting.append(continuation)
                        }
                        return state.isClosed
                    }
                    if isClosed { continuation.resume() }
                }
            }
        )
    }
}

@Suite("Connections that carry a wallet's data")
struct ConnectionRegistryTests {
    let registry = ConnectionRegistry()
    let wallet = WalletID.random()

    @Test("a revocation closes all of the wallet's connections except the requesting one, and no other wallet's")
    func abortAll() async {
        let mine = [RecordedConnection(1), RecordedConnection(2), RecordedConnection(3)]
        let other = RecordedConnection(4)
        for connection in mine { self.registry.join(connection.handle, wallet: self.wallet) }
        self.registry.join(other.handle, wallet: .random())
        await self.registry.abortAll(of: [self.wallet], except: 2)
        #expect(mine.map(\.events) == [["abort"], [], ["abort"]])
        #expect(other.events.isEmpty)
    }

    @Test("a revocation returns only when the connections are closed", arguments: [true, false])
    func awaitsClosing(ofAll: Bool) async throws {
        let slow = RecordedConnection(1, closesWhenAborted: false)
        let (registry, wallet, returned) = (self.registry, self.wallet, RecordedConnection(0))
        registry.join(slow.handle, wallet: wallet)
        async let revocation: Void = {
            if ofAll { await registry.settleAll() } else { await registry.abortAll(of: [wallet]) }
            returned.handle.abort()
        }()
        try await poll { slow.events.last == "wait" || !returned.events.isEmpty }
        #expect(returned.events.isEmpty)
        slow.finishClosing()
        await revocation
        #expect(returned.events == ["abort"])
    }

    @Test("a connection that left is not aborted and leaves no entry")
    func leave() async {
        let connection = RecordedConnection(1)
        self.registry.join(connection.handle, wallet: self.wallet)
        self.registry.join(connection.handle, wallet: .random())
        #expect(self.registry.count == 1)
        self.registry.leave(1)
        #expect(self.registry.count == 0)
        await self.registry.abortAll(of: [self.wallet])
        #expect(connection.events.isEmpty)
    }

    @Test("connections are notified when their session expires, once, and stay open")
    func sessionsEnd() {
        let connections = [RecordedConnection(1), RecordedConnection(2)]
        for connection in connections { self.registry.join(connection.handle, wallet: self.wallet) }
        let now = Timestamp(milliseconds: 0)
        self.registry.sessionOpened(of: self.wallet, on: 1, until: now + .seconds(60))
        self.registry.sessionOpened(of: self.wallet, on: 2, until: now + .seconds(61))
        #expect(self.registry.endSessions(dueAt: now + .milliseconds(59_999)) == 0)
        #expect(self.registry.endSessions(dueAt: now + .seconds(60)) == 1)
        #expect(self.registry.endSessions(dueAt: now + .seconds(60)) == 0)
        #expect(connections.map(\.events) == [["unprotected"], []])
    }

    @Test("the keys of an expired session are wiped, unless a call is being answered", arguments: [true, false])
    func keysOfExpiredSessions(isBusy: Bool) throws {
        let (keys, activity) = (WalletKeys.decoy(), CallActivity())
        if isBusy { activity.begin() }
        _ = self.registry.join(RecordedConnection(1).handle, with: keys)
        let now = Timestamp(milliseconds: 0)
        let summary = SessionSummary(
            walletID: keys.wallet,
            source: try #require(PeerSource(address: "192.0.2.1")),
            since: now,
            app: ClaimedApp(version: try #require(AppVersion("1.0.0")), platform: .android),
            activity: activity
        )
        self.registry.sessionOpened(of: keys.wallet, on: 1, until: now + .seconds(60), summary)
        #expect(self.registry.endSessions(dueAt: now + .seconds(59)) == 0 && !keys.areWiped)
        #expect(self.registry.endSessions(dueAt: now + .seconds(60)) == 1)
        #expect(keys.areWiped != isBusy)
    }

    @Test("only a wallet's four newest sessions stay protected, and one that ends takes no place among them")
    func protection() {
        let connections = (0..<10).map { RecordedConnection($0) }
        let now = Timestamp(milliseconds: 0)
        func open(_ place: Int, of wallet: WalletID, until end: Timestamp = now + .seconds(60)) {
            self.registry.join(connections[place].handle, wallet: wallet)
            self.registry.sessionOpened(of: wallet, on: connections[place].id, until: end)
        }
        func unprotected() -> [UInt64] { connections.filter { $0.events == ["unprotected"] }.map(\.id) }
        // Another wallet's session.
        open(0, of: .random())
        for place in [4, 3, 2, 1] { open(place, of: self.wallet) }
        #expect(unprotected().isEmpty)
        open(5, of: self.wallet)
        #expect(unprotected() == [4])
        self.registry.leave(3)
        open(6, of: self.wallet, until: now + .seconds(1))
        #expect(unprotected() == [4])
        #expect(self.registry.endSessions(dueAt: now + .seconds(1)) == 1)
        #expect(unprotected() == [4, 6])
        open(7, of: self.wallet)
        #expect(unprotected() == [4, 6])
        open(8, of: self.wallet)
        #expect(unprotected() == [2, 4, 6])
    }

    @Test("many sessions are listed in pages, each once and in order, while others open and close")
    func pages() throws {
        let source = try #require(PeerSource(address: "192.0.2.1"))
        let version = try #require(AppVersion("1.0.0"))
        func open(_ id: UInt64) {
            self.registry.join(RecordedConnection(id).handle, wallet: self.wallet)
            let app = ClaimedApp(version: version, platform: .android)
            let session = SessionSummary(
                walletID: self.wallet,
                source: source,
                since: Timestamp(milliseconds: 0),
                app: app,
                activity: CallActivity()
            )
            self.registry.sessionOpened(of: self.wallet, on: id, until: Timestamp(milliseconds: 1), session)
        }
        let count: UInt64 = 3_000
        for id in (1...count).shuffled() { open(2 * id) }
        // A connection without a session.
        self.registry.join(RecordedConnection(9).handle, wallet: .random())
        var listed: [UInt64] = []
        var hasMore = true
        while hasMore {
            let (page, more) = self.registry.sessions(after: listed.last ?? 0, limit: 200)
            #expect(page.count == 200 || !more)
            listed += page.map(\.0)
            hasMore = more
            // Both changes are before the start of the next page.
            self.registry.leave(listed[0])
            open(listed[listed.count - 1] - 1)
        }
        #expect(listed == (1...count).map { 2 * $0 })
    }
}
