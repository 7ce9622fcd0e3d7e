internal import Metrics
internal import PINPolicy
internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// A connection to the store's database, used by one lane's thread, and the facts that the lane decides from.
final class StoreSession {
    let connection: any DatabaseConnection
    private let parts: StoreParts
    /// The store's facts, as the database last returned them.
    private(set) var facts = StoreFacts()
    /// The store's epoch as the database returns it.
    var epoch: Int64 { Int64(self.facts.epoch) }
    /// The policy that the store keeps for all servers.
    private(set) var policy = StorePolicy([:])
    /// The newest version of the vault's keys that was activated, with the check value of its key, or nil before the
    /// first.
    ///
    /// The facts' ``StoreFacts/receiptVersion`` is its number.
    private(set) var vaultKey: String?
    /// The settings that were last found safe.
    private var safeSettings: String?
    /// The version of the vault's keys that this server was last found to have.
    private var heldVaultKey: String?
    /// The columns that each transaction on this connection reads, from the table `facts`.
    private(set) var factColumns = StoreSession.factColumns
    /// The times at which statements were parsed whose ``SchemaObjects`` were found right.
    private var parsed: [Substring] = []
    /// The text of ``SchemaObjects/expression`` for a checked statement, with the times that were recorded.
    private var checkedText = SchemaObjects.checkedPrefix
    private var hasNewParsed = false
    /// The time at which every statement must return the objects again.
    private var nextSchemaCheck: ContinuousClock.Instant
    /// The deadline of all statements, or nil if the store's time limit applies to each of them.
    var deadline: ContinuousClock.Instant?
    private var hasBegun = false

    /// The columns that each batch and each transaction reads, from the table `facts`.
    static let factColumns = StoreSession.factColumns(SchemaObjects.expression)

    /// An SQL expression for the newest version of the vault's keys that was activated, with the check value of its
    /// key.
    ///
    /// Invariant: each server announces and signs with this version, read in the step that it answers. If each used the
    /// version that it last saw, then during a rotation a wallet would meet an older receipt key after a newer one,
    /// which looks like tampering.
    static let vaultKey = """
        (select version || ':' || encode(key_check, 'hex') from vault_versions order by version desc limit 1)
        """

    private static func factColumns(_ objects: String) -> String {
        """
        \(DurabilitySettings.expression), epoch, solution_revoked, policy, lost_commits,
            \(CopyMark.isUnfinished), \(objects), \(StoreSession.vaultKey)
        """
    }

    /// The interval at which a connection checks the whole schema, even if no statement was parsed again.
    private static let schemaCheckInterval: Duration = .seconds(3600)
    /// The number of recorded times, more than this program has statements with ``factColumns``.
    private static let mostParsed = 16

    /// Connects.
    ///
    /// Rejects a database that has no store for this key and policy, that has settings that lose commits, or that lacks
    /// some of these commits.
    init(
        _ parts: StoreParts,
        _ confirmed: ConfirmedCommits? = nil,
        until deadline: ContinuousClock.Instant? = nil
    ) throws {
        (self.parts, self.deadline) = (parts, deadline)
        self.nextSchemaCheck = parts.machine.now() + Self.schemaCheckInterval
        self.connection = try parts.machine.connect(parts.target, Self.limit(parts, deadline))
        _ = try self.run(.session(.setSearchPath))
        _ = try self.run(.session(.setPlanning))
        let milliseconds = max(1, Int64(parts.timeLimit / .milliseconds(1)))
        _ = try self.run(.session(.setTransactions(idleLimit: milliseconds)))
        guard let found = try Schema.foundVersion(on: self.connection, within: self.limit) else {
            throw PostgreSQLStoreOpenError.missing
        }
        let schema = parts.schema
        guard found <= schema.version else {
            throw PostgreSQLStoreOpenError.otherVersion(found: found, known: schema.version)
        }
        try self.requireOrigin()
        guard found == schema.version || parts.acceptsEarlierVersion else {
            throw PostgreSQLStoreOpenError.otherVersion(found: found, known: schema.version)
        }
        if found < schema.version {
            self.factColumns = Self.factColumns(SchemaObjects.expression(naming: schema.tables(in: found)))
        }
        try self.take(try self.run(self.facts(.none)))
        self.hasBegun = true
        guard let confirmed, try !confirmed.areAll(in: self), !parts.acceptsLostCommits else { return }
        _ = try self.commit(.facts(.noteLostCommits))
        throw PostgreSQLStoreOpenError.lostCommits
    }

    /// Rejects a store that belongs to another vault or may be a copy of the original.
    ///
    /// Invariant: an upgrade cannot be undone, so this server does not upgrade a store that it could not use.
    private func requireOrigin() throws {
        let own = try self.run(.facts(.origin))
        guard own.bytes(0, 0) == self.parts.key.check else { throw PostgreSQLStoreOpenError.otherKey }
        guard !self.parts.acceptsLostCommits else { return }
        guard own.flag(0, 1) == true else { throw PostgreSQLStoreOpenError.restored }  // rule: postgresql-dump-served
    }

    private var limit: Duration { Self.limit(self.parts, self.deadline) }

    private static func limit(_ parts: StoreParts, _ deadline: ContinuousClock.Instant?) -> Duration {
        deadline.map { max(.zero, $0 - parts.machine.now()) } ?? parts.timeLimit
    }

    /// The statement that reads the settings and facts of the store.
    func facts(_ lock: FactStatement.Lock) -> StoreStatement { .facts(.read(columns: self.factColumns, lock)) }

    /// Runs a statement that commits nothing.
    func run(_ statement: StoreStatement) throws(PostgreSQLFailure) -> PostgreSQLRows {
        try self.connection.run(statement, within: self.limit)
    }

    /// Runs a statement that may read every wallet.
    func scan(_ statement: String, _ values: [PostgreSQLValue]) throws(PostgreSQLFailure) -> PostgreSQLRows {
        try self.connection.run(.sql(statement, values), within: self.parts.scanLimit)
    }

    /// Runs a statement that ends with a commit.
    func commit(_ statement: StoreStatement) throws(PostgreSQLFailure) -> PostgreSQLRows {
        try self.connection.run(statement, commits: true, within: self.limit)
    }

    /// Checks the settings that a statement returned with ``factColumns``, and takes its facts.
    ///
    /// - Throws: ``PostgreSQLStoreOpenError/epochEnded`` if another epoch was opened; the caller must connect again.
    func take(_ rows: PostgreSQLRows) throws {
        try self.check(rows)
        guard let epoch = rows.number(0, 1), let isSolutionRevoked = rows.flag(0, 2), let policy = rows.text(0, 3),
            let lostCommits = rows.flag(0, 4), let isCopying = rows.flag(0, 5)
        else { throw StoreError.corrupt }
        let vaultKey = rows.text(0, 7)
        self.policy = StorePolicy(reading: policy)
        let differences = StorePolicy(self.parts.policy).differences(from: self.policy)
        guard differences.isEmpty || self.parts.acceptsOtherPolicy else {
            throw PostgreSQLStoreOpenError.otherPolicy(differences)
        }
        guard !lostCommits || self.parts.acceptsLostCommits else { throw PostgreSQLStoreOpenError.lostCommits }
        guard !isCopying || self.parts.acceptsUnfinishedCopy else { throw PostgreSQLStoreOpenError.unfinishedCopy }
        try self.requireVaultKey(vaultKey)
        (self.facts.isSolutionRevoked, self.vaultKey) = (isSolutionRevoked, vaultKey)
        self.facts.receiptVersion = vaultKey?.split(separator: ":").first.flatMap { UInt32($0) }
        guard epoch != self.epoch else { return }
        // Invariant (G3): a new connection compares this server's commits with those that the epoch took into account.
        guard !self.hasBegun else { throw PostgreSQLStoreOpenError.epochEnded }
        try self.readEpochs(upTo: epoch)
    }

    /// Rejects a store whose newest version of the vault's keys this server lacks.
    ///
    /// The version was activated while this server had no lease, or its key file was replaced. Its lease expires now.
    private func requireVaultKey(_ name: String?) throws(PostgreSQLStoreOpenError) {
        guard let name, name != self.heldVaultKey, let own = self.parts.vaultKeys?() else { return }
        guard own.contains(name) else { throw .lacksVaultKey(name) }
        self.heldVaultKey = name
    }

    /// Rejects settings that could cause the statement's commit to be lost, and a schema that could change its writes.
    func check(_ rows: PostgreSQLRows) throws(PostgreSQLStoreOpenError) {
        try self.check(settings: rows.text(0, 0))
        try self.check(objects: rows.text(0, 6))
    }

    /// Rejects unknown objects in the schema, unless the statement was checked (``SchemaObjects/expression``).
    func check(objects text: String?) throws(PostgreSQLStoreOpenError) {
        guard text != self.checkedText else { return }
        guard let objects = text.flatMap(SchemaObjects.init) else { throw .otherSchema(SchemaObjects.unreadable) }
        let differences = objects.differences(from: self.parts.schema)
        guard differences.isEmpty else { throw .otherSchema(differences) }
        self.parsed = self.parsed.suffix(Self.mostParsed - 1) + [objects.parsed]
        self.hasNewParsed = true
    }

    /// Tells the database which statements need not return the schema's objects again; called between transactions.
    ///
    /// Within a transaction, a later statement that is parsed again would have the same time as an earlier one.
    func recordSchemaChecks() throws(PostgreSQLFailure) {
        let now = self.parts.machine.now()
        if now >= self.nextSchemaCheck {
            self.nextSchemaCheck = now + Self.schemaCheckInterval
            (self.parsed, self.hasNewParsed) = ([], true)
        }
        guard self.hasNewParsed else { return }
        let checked = self.parsed.joined(separator: "|")
        _ = try self.run(.session(.noteChecked(checked)))
        (self.checkedText, self.hasNewParsed) = (SchemaObjects.checkedPrefix + checked, false)
    }

    private func check(settings text: String?) throws(PostgreSQLStoreOpenError) {
        guard text == nil || text != self.safeSettings else { return }
        guard let settings = text.flatMap(DurabilitySettings.init) else {
            throw .losesCommits("its settings cannot be read")
        }
        if let problem = settings.problem(for: self.parts.durability) { throw .losesCommits(problem) }
        self.safeSettings = text
        self.parts.meters.standbys.record(settings.standbyCount)
    }

    /// Reads and checks the settings again after a commit whose statement returned safe ones.
    ///
    /// Threat: a commit that waits for a standby succeeds without a warning if the standby's name is removed from the
    /// settings, as Patroni does once no standby is left. Its session sees the new settings from the next statement on.
    /// The schema needs no second check: the statement's locks on its tables keep others from changing them.
    func checkAfterCommit() throws(PostgreSQLFailure) {
        guard self.parts.durability == .replicated else { return }
        do {
            try self.check(settings: self.run(.session(.settings)).text(0, 0))
        } catch {
            throw .outcomeUnknown("\(error)")
        }
    }

    private func readEpochs(upTo epoch: Int64) throws {
        self.facts.charges = try self.epochs().map { EpochCharge($0.rule, openedAt: $0.openedAt) }
        // Another server may have opened one since.
        guard self.epoch >= epoch else { throw StoreError.corrupt }
    }

    /// Returns every epoch except the first, in order and without gaps.
    func epochs() throws -> [StoredEpoch] {
        try StoredEpoch.all(in: PostgreSQLRow.all(in: self.run(.side(StoredEpoch.statement, []))))
    }

    /// Returns the commits of one server, or of all servers, that epochs took into account.
    func accountedCommits(of server: String? = nil) throws -> [AccountedCommits] {
        let rows = try self.run(.server(.accountedCommits(of: server)))
        return try (0..<rows.count).map { row in
            guard let name = rows.text(row, 0), let epoch = rows.number(row, 1), let judging = rows.number(row, 2),
                let transactions = rows.number(row, 3), let total = rows.number(row, 4)
            else { throw StoreError.corrupt }
            return AccountedCommits(
                server: name,
                epoch: epoch,
                numbers: [.judging: judging, .transactions: transactions],
                total: UInt64(bitPattern: total)
            )
        }
    }

    /// Reads wallets.
    ///
    /// The values are nil for a damaged wallet.
    func wallets(_ ids: [WalletID]) throws(PostgreSQLFailure) -> [WalletID: StoredValues?] {
        let rows = try self.run(.wallet(.read(ids)))
        var found: [WalletID: StoredValues?] = [:]
        for place in 0..<rows.count {
            guard let wallet = rows.bytes(place, 0).flatMap({ WalletID($0) }) else { continue }
            found[wallet] = .some(try? StoredValues(rows, at: place, of: wallet, by: self.parts.key))
        }
        return found
    }
}
