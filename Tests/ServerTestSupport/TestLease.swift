internal import HostSystem
internal import Synchronization
package import Vocabulary
package import WalletStore

/// A lease that a test takes away, and whose acknowledgments pass a gate.
package final class TestLease: ServerLease {
    package let server = "here"
    package let clock: any WallClock
    package let gate = Gate()
    /// The number of checks that still find the lease held.
    private let checks = Mutex(Int.max)
    private let maintains = Atomic<Bool>(true)
    private let keys = Mutex<[String]>([])
    private let settling = Mutex<@Sendable ([WalletID]?) async -> Void>({ _ in })

    package init(clock: any WallClock = SystemClock()) {
        self.clock = clock
    }

    package var isHeld: Bool {
        self.checks.withLock { checks in
            guard checks > 0 else { return false }
            checks -= 1
            return true
        }
    }
    package var age: Duration { .zero }
    package var clockDifference: Duration { .zero }
    package var hasMaintenance: Bool { self.maintains.load(ordering: .relaxed) }
    package var servers: [LeasedServer] {
        ["here", "there"].map { name in
            LeasedServer(
                name: name,
                instance: name,
                program: "test",
                schemaVersion: 2,
                vaultKeys: name == "there" ? self.keys.withLock(\.self) : [],
                connections: 2,
                sessions: 1,
                hasMaintenance: (name == "here") == self.hasMaintenance
            )
        }
    }

    package func set(isHeld: Bool) { self.checks.withLock { $0 = isHeld ? .max : 0 } }

    /// Ends the lease after a number of checks, as if its time ended during a call.
    package func end(afterChecks count: Int) { self.checks.withLock { $0 = count } }

    package func set(hasMaintenance: Bool) { self.maintains.store(hasMaintenance, ordering: .relaxed) }

    /// Sets the keys of the other server.
    package func set(vaultKeys: [String]) { self.keys.withLock { $0 = vaultKeys } }

    /// Settles wallets at this server, as for a revocation at another one.
    package func settle(_ wallets: [WalletID]?) async { await self.settling.withLock(\.self)(wallets) }

    package func serve(
        settle: @escaping @Sendable ([WalletID]?) async -> Void,
        load: @escaping @Sendable () -> (connections: Int, sessions: Int)
    ) {
        self.settling.withLock { $0 = settle }
    }

    package func acknowledgements() async throws(StoreError) -> Acknowledgements {
        await self.gate.pass()
        return Acknowledgements(acknowledged: ["here"], ended: ["there"])
    }
}
