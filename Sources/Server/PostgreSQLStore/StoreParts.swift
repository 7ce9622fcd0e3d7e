internal import Dispatch
internal import Foundation
package import Metrics
package import PostgreSQLClient
package import Statements
package import WalletStore

/// The parts of a store: its database, keys and limits.
package struct StoreParts: Sendable {
    package var target: PostgreSQLTarget
    /// This server's name, unique among the servers of the store and the same after a restart.
    package var server: String
    /// The key for the MACs of attempt records.
    package var key: RecordKey
    package var durability: Durability
    /// The settings that affect decisions about wallets, by name: the attempt policy, the attestation policy, and the
    /// lab.
    ///
    /// All servers of a store must have the same ones.
    package var policy: [String: String] = [:]
    /// Whether to open a store with another policy, to replace that policy.
    ///
    /// Until then, the store judges nothing.
    package var acceptsOtherPolicy = false
    /// The file that this server records the last confirmed commits in, or nil to keep them in memory only.
    package var commitMark: String?
    /// Whether to open a store that lacks confirmed commits or was restored from a dump, to open an epoch in it.
    ///
    /// Until then, the store judges nothing.
    package var acceptsLostCommits = false
    /// Whether to open a store of an earlier version, to upgrade it.
    ///
    /// Until then, the store judges nothing.
    package var acceptsEarlierVersion = false
    /// Whether to open a store with an unfinished copy, to continue the copy.
    ///
    /// Until it is finished, the store judges nothing.
    package var acceptsUnfinishedCopy = false
    /// The time that this server's lease lasts after a renewal.
    package var lease: Duration = .seconds(6)
    /// The time since the machine started, including the time for which it was suspended; used to time leases.
    package var elapsed: @Sendable () -> Duration = { BootTime.now() }
    /// The same time, added to the last reading of the database's clock; tests change the two separately.
    package var uptime: @Sendable () -> Duration = { BootTime.now() }
    package var machine = StoreMachine()
    /// Called if another epoch was opened, so that this server must start again and compare its log with the database.
    package var onEpochEnd: @Sendable () -> Void = {}
    /// This program's version, for operators.
    package var program = ""
    /// Returns the versions of this server's vault keys, each with the check value of its key; nil for a command, which
    /// seals and signs nothing.
    package var vaultKeys: (@Sendable () -> [String])?
    /// The longest time that a statement may take before its connection is closed.
    package var timeLimit: Duration
    /// The longest time that a statement that reads every wallet may take.
    package var scanLimit: Duration
    /// Signs the roots of receipts, or nil if the store issues no receipts.
    package var receipts: (any ReceiptSigner)?
    package var metrics: any MetricsFactory
    /// The tables; tests have a schema with migrations that this program does not have.
    var schema = Schema.current
    /// The metrics of the store, which creates them.
    var meters = DatabaseMeters.none
    /// Receives the reason for each refusal, and the error that caused it, if any, for the log.
    ///
    /// The reason contains nothing that comes from a wallet.
    package var onRefusal: @Sendable (_ reason: String, _ error: (any Error)?) -> Void

    package init(
        target: PostgreSQLTarget,
        server: String,
        key: RecordKey,
        durability: Durability = .replicated,
        timeLimit: Duration = .seconds(5),
        scanLimit: Duration = .seconds(600),
        receipts: (any ReceiptSigner)? = nil,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        onRefusal: @escaping @Sendable (_ reason: String, _ error: (any Error)?) -> Void = { _, _ in }
    ) {
        self.target = target
        self.server = server
        self.key = key
        self.durability = durability
        self.timeLimit = timeLimit
        self.scanLimit = scanLimit
        self.receipts = receipts
        self.metrics = metrics
        self.onRefusal = onRefusal
    }
}

/// The machine that a store runs on: its connections, its threads and the time that passes; a simulator replaces it.
package struct StoreMachine: Sendable {
    /// Connects to the database, at most this long.
    package var connect: @Sendable (PostgreSQLTarget, Duration) throws(PostgreSQLFailure) -> any DatabaseConnection = {
        (target, limit) throws(PostgreSQLFailure) in
        try PostgreSQLConnection(to: target, within: limit)
    }
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Blocks the calling thread.
    package var sleep: @Sendable (Duration) -> Void = { Thread.sleep(forTimeInterval: $0 / .seconds(1)) }
    package var startThread: @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Void = {
        let thread = Thread(block: $1)
        thread.name = $0
        thread.start()
    }
    package var makeSemaphore: @Sendable () -> any StoreWake = { DispatchSemaphore(value: 0) }
    /// Returns nil if the process has no free file descriptors.
    package var makePipe: @Sendable () -> WakePipe? = { WakePipe() }

    package init() {}
}
