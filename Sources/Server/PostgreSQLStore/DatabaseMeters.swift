internal import Metrics
internal import PostgreSQLClient
internal import WalletStore

/// Metrics about a store's use of its database.
struct DatabaseMeters: Sendable {
    /// The reason why a statement or a connection failed, or why the database must not be used.
    enum Refusal: String, CaseIterable, Sendable {
        /// The database does not answer, or the connection was lost.
        case unreachable
        /// The database rejected a statement or the connection.
        case rejected
        /// It is unknown whether a commit took effect.
        case outcomeUnknown = "outcome_unknown"
        /// The database lacks confirmed commits, or may lack them, as a restored dump does.
        case lostCommits = "lost_commits"
        /// A setting of the database can lose commits.
        case unsafeSettings = "unsafe_settings"
        /// Settings of this server differ from those that all servers must have.
        case policy
        /// The store belongs to another vault, has another schema or version, or is missing or incomplete.
        case otherStore = "other_store"
        /// Another epoch was opened.
        case epochEnded = "epoch_ended"
        /// Another process uses this server's name.
        case nameInUse = "name_in_use"
        /// A row cannot be read, or a file of this server fails.
        case other

        init(_ error: any Error) {
            self =
                switch error {
                case PostgreSQLFailure.outcomeUnknown: .outcomeUnknown
                case PostgreSQLFailure.disconnected, PostgreSQLStoreOpenError.unreachable: .unreachable
                case PostgreSQLFailure.rejected: .rejected
                case PostgreSQLStoreOpenError.lostCommits, PostgreSQLStoreOpenError.restored: .lostCommits
                case PostgreSQLStoreOpenError.losesCommits: .unsafeSettings
                case PostgreSQLStoreOpenError.otherPolicy: .policy
                case PostgreSQLStoreOpenError.otherKey, PostgreSQLStoreOpenError.lacksVaultKey,
                    PostgreSQLStoreOpenError.otherVersion, PostgreSQLStoreOpenError.missing,
                    PostgreSQLStoreOpenError.unfinishedCopy, PostgreSQLStoreOpenError.otherSchema:
                    .otherStore
                case PostgreSQLStoreOpenError.epochEnded: .epochEnded
                case PostgreSQLStoreOpenError.nameInUse: .nameInUse
                default: .other
                }
        }
    }

    let batches: StoreMeters
    /// Steps that were decided again, because another server had changed or locked the wallet's row.
    let comparisonMisses: Counter
    let transaction: Metrics.Timer
    /// The standbys that each commit waits for.
    let standbys: Gauge
    /// True (1) if a commit on one machine is enough.
    private let localDurability: Gauge
    private let refusals: [Refusal: Counter]

    /// Creates the metrics.
    ///
    /// Must be called only once per store.
    init(_ factory: any MetricsFactory) {
        self.batches = StoreMeters(factory)
        self.comparisonMisses = Counter(label: "remote_pin_store_comparison_misses_total", factory: factory)
        self.transaction = Metrics.Timer(label: "remote_pin_store_transaction_seconds", factory: factory)
        self.standbys = Gauge(label: "remote_pin_store_standbys", factory: factory)
        self.localDurability = Gauge(label: "remote_pin_store_local_durability", factory: factory)
        self.refusals = Refusal.allCases.reduce(into: [:]) { counters, reason in
            counters[reason] = Counter(
                label: "remote_pin_store_refusals_total",
                dimensions: [("reason", reason.rawValue)],
                factory: factory
            )
        }
    }

    static let none = DatabaseMeters(NOOPMetricsHandler.instance)

    func record(_ durability: Durability) { self.localDurability.record(durability == .local ? 1 : 0) }

    func count(_ error: any Error) { self.refusals[Refusal(error)]?.increment() }
}

extension StoreParts {
    /// Returns the parts with metrics.
    ///
    /// Must be called only once per store.
    func metered() -> StoreParts {
        var parts = self
        parts.meters = DatabaseMeters(self.metrics)
        parts.meters.record(self.durability)
        return parts
    }

    /// Counts and logs the reason why something is refused.
    func refuse(_ error: any Error) {
        self.meters.count(error)
        self.onRefusal("\(error)", error)
    }
}
