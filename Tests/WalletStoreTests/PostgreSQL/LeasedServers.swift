import PostgreSQLClient
import Synchronization
import TestSupport
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

/// Servers with leases on one database, whose clocks a test moves.
struct LeasedServers: Sendable {
    /// The time since the machine started, as the servers see it: real time plus the time that a test adds.
    final class ElapsedTime: Sendable {
        private let added = Mutex(Duration.zero)

        var now: Duration { BootTime.now() + self.added.withLock(\.self) }
        func advance(by duration: Duration) { self.added.withLock { $0 += duration } }
    }

    /// An event that has happened or not.
    final class Event: Sendable {
        private let value = Mutex(false)

        var hasHappened: Bool { self.value.withLock(\.self) }
        func happen() { self.value.withLock { $0 = true } }
    }

    /// Closes all stores at the end of a test, since the threads of a lease would go on renewing it.
    private final class OpenStores: Sendable {
        private let stores = Mutex<[PostgreSQLWalletStore]>([])

        func add(_ store: PostgreSQLWalletStore) { self.stores.withLock { $0.append(store) } }

        deinit {
            let stores = self.stores.withLock(\.self)
            Task { for store in stores { await store.close() } }
        }
    }

    let place: PostgreSQLPlace
    private let stores = OpenStores()
    /// The time of the leases.
    let elapsed = ElapsedTime()
    /// The time that is added to the database's clock.
    let uptime = ElapsedTime()
    let reasons = Reasons()
    /// Whether a server noticed another epoch.
    let epochEnd = Event()

    init() async throws {
        self.place = try await PostgreSQLPlace()
    }

    func server(
        _ name: String,
        lease: Duration = .seconds(60),
        _ change: (inout StoreParts) -> Void = { _ in }
    ) async throws -> PostgreSQLWalletStore {
        var parts = self.place.parts(as: name)
        parts.lease = lease
        parts.elapsed = { [elapsed = self.elapsed] in elapsed.now }
        parts.uptime = { [uptime = self.uptime] in uptime.now }
        parts.onRefusal = { [reasons = self.reasons] reason, _ in reasons.receive(reason) }
        parts.onEpochEnd = { [epochEnd = self.epochEnd] in epochEnd.happen() }
        change(&parts)
        let store = try await PostgreSQLWalletStore.open(parts)
        self.stores.add(store)
        try await store.takeLease()
        return store
    }

    func lease(of store: PostgreSQLWalletStore) throws -> any ServerLease { try store.lease.orThrow() }

    /// Returns true once a server has refused something for this reason.
    func refuse(for reason: String) async -> Bool { await eventually { self.reasons.contain(reason) } }

    /// Returns true once a server has noticed another epoch.
    func noticeEpoch() async -> Bool { await eventually { self.epochEnd.hasHappened } }

    /// Records the wallets that a server settles.
    func settled(by lease: any ServerLease) -> Settled {
        let settled = Settled()
        lease.serve { wallets in
            settled.wallets.withLock { $0.append(wallets) }
        } load: {
            (0, 0)
        }
        return settled
    }

    final class Settled: Sendable {
        let wallets = Mutex<[[WalletID]?]>([])
        /// Whether the only call so far has settled everything.
        var isEverything: Bool { self.wallets.withLock { $0 == [nil] } }
    }
}
