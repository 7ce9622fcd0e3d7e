internal import DictionaryStore
internal import PostgreSQLClient
@testable internal import PostgreSQLStore
internal import Vocabulary
internal import WalletStore

/// One execution of a statement: the tables as it sees them, and its changes.
struct StatementExecution {
    /// Another transaction holds a lock that the statement needs.
    struct Blocked: Error {}

    /// The statement fails with this SQLSTATE.
    struct Rejected: Error {
        let state: String
    }

    private let database: SimulatedDatabase
    let backend: Backend
    private let transaction: DatabaseTransaction
    private(set) var tables: DatabaseTables
    private(set) var changes: [DatabaseTransaction.Change] = []
    /// The names of the changed tables.
    private(set) var changed: Set<String> = []
    var notified: Set<String> = []

    init(_ database: SimulatedDatabase, _ backend: Backend, _ transaction: DatabaseTransaction) {
        (self.database, self.backend, self.transaction) = (database, backend, transaction)
        self.tables = database.visible
        for change in transaction.changes { change(&self.tables) }
    }

    /// Changes a table, for others after the commit.
    @discardableResult
    mutating func change(_ table: String, _ change: @escaping DatabaseTransaction.Change) -> SimulatedRows {
        change(&self.tables)
        self.changes.append(change)
        self.changed.insert(table)
        return SimulatedRows(changed: 1)
    }

    /// Takes a lock until the end of the transaction, or throws ``Blocked``.
    func lock(_ lock: DatabaseLock, isShared: Bool = false) throws {
        guard self.tryLock(lock, isShared: isShared) else { throw Blocked() }
    }

    /// Takes a lock until the end of the transaction; returns false if another transaction holds it.
    func tryLock(_ lock: DatabaseLock, isShared: Bool = false) -> Bool {
        self.database.lock(lock, isShared: isShared, for: self.transaction)
    }

    /// Takes a lock until the end of the session; returns false if another session holds it.
    func tryLockForSession(_ lock: DatabaseLock) -> Bool {
        self.database.lock(lock, isShared: false, for: self.backend.session)
    }

    /// The database's clock.
    var clock: Int64 { self.database.clock }

    /// A row or none.
    static func rows(_ row: [PostgreSQLValue]?) -> SimulatedRows { SimulatedRows(row.map { [$0] } ?? []) }

    mutating func carryOut(_ statement: StoreStatement) throws -> SimulatedRows {
        switch statement {
        case .session(let statement): try self.carryOut(statement)
        case .facts(let statement): try self.carryOut(statement)
        case .wallet(let statement): try self.carryOut(statement)
        case .find(let statement): self.carryOut(statement)
        case .judge(let statement): try self.carryOut(statement)
        case .server(let statement): try self.carryOut(statement)
        case .lease(let statement): try self.carryOut(statement)
        case .side(let statement, let values): try self.carryOut(statement, values)
        case .sql: preconditionFailure("the database rejects these")
        }
    }

    private func carryOut(_ statement: SessionStatement) throws -> SimulatedRows {
        switch statement {
        case .settings: return Self.rows([.text(DatabaseTables.settings)])
        case .lock(let number): try self.lock(.advisory(number))
        case .setSearchPath, .setPlanning, .setTransactions, .noteChecked, .migrate: break
        case .begin, .commit, .rollBack: preconditionFailure("the database itself carries these out")
        }
        return SimulatedRows()
    }

    private mutating func carryOut(_ statement: FactStatement) throws -> SimulatedRows {
        let facts = self.tables.facts
        switch statement {
        case .exist: return Self.rows([.flag(facts != nil)])
        case .schemaVersion: return Self.rows(facts.map { [.number($0.schemaVersion)] })
        case .origin: return Self.rows(facts.map { [.bytes($0.keyCheck), .flag(true)] })
        case .operatorRevision: return Self.rows(facts.map { _ in [.number(0)] })
        case .read(_, .none): return Self.rows(self.tables.factColumns)
        case .read(_, let lock):
            try self.lock(.facts, isShared: lock == .shared)
            return Self.rows(self.tables.factColumns)
        case .lockTable:
            try self.lock(.facts)
            return SimulatedRows()
        case .create(let version, let keyCheck, let policy):
            return self.change("facts") {
                $0.facts = DatabaseTables.Facts(schemaVersion: version, keyCheck: keyCheck, policy: policy)
            }
        case .notePlace: return SimulatedRows(changed: 1)
        case .noteLostCommits:
            try self.lock(.facts)
            return self.change("facts") { $0.facts?.lostCommits = true }
        case .setSolutionRevoked(let isRevoked):
            try self.lock(.facts)
            return self.change("facts") { $0.facts?.isSolutionRevoked = isRevoked }
        case .countEpochs:
            try self.lock(.facts)
            return self.change("facts") {
                $0.facts?.epoch = Int64($0.sides.count(of: .epochs) + 1)
                $0.facts?.lostCommits = false
            }
        }
    }

    private mutating func carryOut(_ statement: SideStatement, _ values: [ColumnValue]) throws -> SimulatedRows {
        var rows: [SideRows.Row] = []
        var after = self.tables.sides
        do { rows = try after.carryOut(statement, values) } catch { throw Rejected(state: "23505") }
        if after != self.tables.sides {
            self.change(statement.table.rawValue) { _ = try? $0.sides.carryOut(statement, values) }
        }
        return SimulatedRows(rows.map { $0.values.map(PostgreSQLValue.init) })
    }
}

/// The statements on wallets.
extension StatementExecution {
    private mutating func carryOut(_ statement: WalletStatement) throws -> SimulatedRows {
        switch statement {
        case .lock(let id):
            guard self.tables.wallets[id] != nil else { return SimulatedRows() }
            try self.lock(.wallet(id))
            return Self.rows([.bytes(id.bytes)])
        case .lockCode(let mac):
            try self.lock(.recoveryCode(mac))
            return Self.rows([.null])
        case .read(let ids):
            let tables = self.tables
            return SimulatedRows(ids.filter { tables.wallets[$0] != nil }.compactMap(tables.columns))
        case .keepRecord(let id, let new, let old):
            try self.lock(.wallet(id))
            guard self.tables.wallets[id] == old else { return SimulatedRows() }
            self.change("wallets") { $0.wallets[id] = new }
            return Self.rows([.bytes(new)])
        case .keepValues(let id, let columns):
            guard self.tables.wide[id] != nil else { return SimulatedRows() }
            return self.change("wallet_values") { $0.wide[id]?.columns = columns }
        case .addRecord(let id, let record):
            try self.lock(.wallet(id))
            guard self.tables.wallets[id] == nil else { throw Rejected(state: "23505") }
            return self.change("wallets") { $0.wallets[id] = record }
        case .addValues(let columns, let registration):
            let place = self.database.nextPlace()
            let wide = DatabaseTables.Wide(place: place, columns: columns, registration: registration)
            self.change("wallet_values") { $0.wide[registration.walletID] = wide }
            return Self.rows([.number(place)])
        case .noteEnd(let id, let time):
            guard let place = self.tables.wide[id]?.place else { return SimulatedRows() }
            return self.change("ended") { $0.ended[place] = $0.ended[place] ?? time.milliseconds }
        case .noteRecordedBlocks(let ids):
            let known = ids.filter { self.tables.wallets[$0] != nil }
            return self.change("recorded_blocks") { $0.recordedBlocks.formUnion(known) }
        case .keepLastSession(let id, let at):
            guard self.tables.wallets[id] != nil else { return SimulatedRows() }
            let time = at.milliseconds
            return self.change("last_sessions") { $0.lastSessions[id] = max($0.lastSessions[id] ?? time, time) }
        case .delete(let table, let ids):
            for id in ids { self.change(table.rawValue) { $0.delete(id, from: table) } }
            return SimulatedRows()
        }
    }

    private func carryOut(_ statement: FindStatement) -> SimulatedRows {
        let tables = self.tables
        func page(after place: Int64, last: Int64 = .max) -> [(key: WalletID, value: DatabaseTables.Wide)] {
            tables.wide.filter { $0.value.place > place && $0.value.place <= last }
                .sorted { $0.value.place < $1.value.place }
        }
        switch statement {
        case .read(let columns, .next(let after, let last, let limit)):
            let last = last.map { Int64(bitPattern: $0) } ?? .max
            let found = page(after: WalletSelection.start(after), last: last).prefix(limit)
            return SimulatedRows(found.compactMap { tables.found($0.key, columns) })
        case .read(let columns, .these(let ids)):
            return SimulatedRows(ids.filter { tables.wallets[$0] != nil }.compactMap { tables.found($0, columns) })
        case .read(_, .unopened(let after, let time, let limit)):
            let start = WalletSelection.start(after)
            let marks = tables.sides[.unopened].filter { $0.numberIfAny(0) ?? 0 > start }.prefix(limit)
            return SimulatedRows(marks.map { tables.found($0, registeredBefore: time.milliseconds) })
        case .read(_, .ended): preconditionFailure("no simulated run removes ended wallets")
        case .deletionCode(let digest):
            let found = tables.wide.first { $0.value.registration.deletionCode?.digest == digest }
            return Self.rows(found.map { [.bytes($0.key.bytes)] })
        case .page(let place, let limit):
            let found = page(after: place).prefix(limit)
            return Self.rows([PostgreSQLValue(found.last?.value.place), .number(Int64(found.count))])
        case .linked(let place, let last, let mac):
            let found = page(after: place, last: last).filter {
                guard case .bytes(let own) = $0.value.columns[6] else { return false }
                return own == mac.bytes
            }
            return SimulatedRows(
                found.map { id, wide in
                    [.number(wide.place), .bytes(id.bytes), PostgreSQLValue(tables.wallets[id])]
                }
            )
        }
    }

    /// Compares and sets rows, skips those that are locked, and counts the commit.
    private mutating func carryOut(_ statement: JudgingStatement) throws -> SimulatedRows {
        let lane = DatabaseTables.Lane(server: statement.server, lane: .judging)
        try self.lock(.commitNumber(lane))
        guard let facts = self.tables.facts else { throw Rejected(state: "42P01") }
        let isInForce =
            facts.epoch == statement.epoch && facts.isSolutionRevoked == statement.isSolutionRevoked
            && facts.policy == statement.policy && !facts.lostCommits && self.tables.vaultKey == statement.vaultKey
        var written: [UInt8] = []
        for (place, bytes) in statement.wallets.enumerated() {
            let new = statement.new[place]
            guard isInForce, let id = WalletID(bytes), self.tables.wallets[id] == statement.old[place],
                self.tryLock(.wallet(id))
            else { continue }
            self.change("wallets") { $0.wallets[id] = new }
            written += bytes + new
        }
        let number = self.count(lane)
        return Self.rows(self.tables.factColumns + [written.isEmpty ? .null : .bytes(written), .number(number)])
    }

    /// Raises the number of a lane's commits, whose lock is held.
    private mutating func count(_ lane: DatabaseTables.Lane) -> Int64 {
        let number = (self.tables.commitNumbers[lane] ?? 0) + 1
        self.change("commit_numbers") { $0.commitNumbers[lane] = number }
        return number
    }
}

extension DatabaseTables {
    fileprivate mutating func delete(_ id: WalletID, from table: WalletStatement.Table) {
        let place = self.wide[id]?.place ?? -1
        switch table {
        case .unopened:
            _ = try? self.sides.carryOut(.delete(from: .unopened, where: ("place", .equals)), [.number(place)])
        case .ended: self.ended[place] = nil
        case .lastSessions: self.lastSessions[id] = nil
        case .recordedBlocks: self.recordedBlocks.remove(id)
        case .values: self.wide[id] = nil
        case .records: self.wallets[id] = nil
        }
    }
}

/// The statements on servers and leases.
extension StatementExecution {
    private mutating func carryOut(_ statement: ServerStatement) throws -> SimulatedRows {
        let tables = self.tables
        switch statement {
        case .countCommit(let server, let name):
            let lane = DatabaseTables.Lane(server: server, lane: name)
            try self.lock(.commitNumber(lane))
            return Self.rows([.number(self.count(lane)), .text(SchemaObjects.checkedPrefix)])
        case .commitNumbers(let server):
            return SimulatedRows(
                CommitLane.allCases.compactMap { lane in
                    tables.commitNumbers[.init(server: server, lane: lane)].map { [.text(lane.rawValue), .number($0)] }
                }
            )
        case .announceEnds(let wallets):
            try self.lock(.revocationCount)
            self.change("revocations") {
                $0.revocationCount += 1
                $0.revocations[$0.revocationCount] = PostgreSQLValue(wallets)
            }
            self.notified.insert(LeaseChannel.revoked.rawValue)
            return Self.rows([.null])
        case .all:
            let servers = Set(tables.auditMarks.keys).union(tables.commitNumbers.keys.map(\.server)).sorted()
            return SimulatedRows(
                servers.map { server in
                    let mark = tables.auditMarks[server]
                    return [
                        .text(server), PostgreSQLValue(mark.map { Int64(bitPattern: $0.number) }),
                        PostgreSQLValue(mark?.mac),
                    ]
                        + CommitLane.allCases.map {
                            PostgreSQLValue(tables.commitNumbers[.init(server: server, lane: $0)])
                        }
                }
            )
        case .auditMark(let server):
            return Self.rows(tables.auditMarks[server].map { [.number(Int64(bitPattern: $0.number)), .text($0.mac)] })
        case .keepAuditMark(let server, let mark): return self.change("audit_marks") { $0.auditMarks[server] = mark }
        case .removeAuditMark(let server): return self.change("audit_marks") { $0.auditMarks[server] = nil }
        case .account(let commits): return self.change("accounted_commits") { $0.account(commits) }
        case .accountedCommits(let server):
            let found = tables.accounted.filter { server == nil || $0.server == server }
            return SimulatedRows(
                found.map { commits in
                    [.text(commits.server), .number(commits.epoch)]
                        + CommitLane.allCases.map { .number(commits.numbers[$0, default: 0]) }
                        + [.number(Int64(clamping: commits.total))]
                }
            )
        case .countLacking(let key, let server):
            let lacking = tables.leases.values.filter {
                let keys = ($0.last?.vaultKeys ?? $0.holder.vaultKeys).split(separator: " ")
                return $0.holder.server != server && !keys.contains(key[...])
            }
            return Self.rows([.number(Int64(lacking.count))])
        case .endLeases: return self.change("leases") { $0.leases = [:] }
        case .noteReversal(let name):
            let row: [ColumnValue] = [.text(name), .text(""), .number(self.clock)]
            return try self.carryOut(.insert(into: .operatorValues, ifKnown: .isReplaced), row)
        case .sessions: return SimulatedRows(self.database.serverSessions.map { [.text($0)] })
        }
    }

    private mutating func carryOut(_ statement: LeaseStatement) throws -> SimulatedRows {
        switch statement {
        case .listen(let channel):
            self.backend.channels.insert(channel.rawValue)
            return SimulatedRows()
        case .take(let holder):
            try self.lock(.advisory(LeaseStatement.keysLock), isShared: true)
            try self.lock(.lease(holder.server))
            guard self.tables.leases[holder.server] == nil else { return SimulatedRows() }
            let lease = DatabaseTables.Lease(holder: holder, renewedAt: self.clock)
            return self.change("leases") { $0.leases[holder.server] = lease }
        case .renew(let renewal): return try self.renew(renewal)
        case .look: return SimulatedRows(self.tables.leaseRows)
        case .end(let server, let instance, let renewals):
            try self.lock(.lease(server))
            guard let lease = self.tables.leases[server], lease.holder.instance == instance,
                lease.renewals == renewals
            else { return SimulatedRows() }
            return self.change("leases") { $0.leases[server] = nil }
        case .revocations(let number, let newest):
            let revocations = self.tables.revocations.filter { $0.key > number && $0.key <= newest }
            return SimulatedRows(revocations.sorted { $0.key < $1.key }.map { [$0.value] })
        }
    }

    /// Renews a lease; the rows are those before the statement.
    private mutating func renew(_ renewal: LeaseStatement.Renewal) throws -> SimulatedRows {
        try self.lock(.lease(renewal.server))
        let leases = self.tables.leaseRows
        var time = PostgreSQLValue.null
        if let lease = self.tables.leases[renewal.server], lease.holder.instance == renewal.instance {
            let others = self.tables.leases.values.filter { $0.holder.instance != renewal.instance }
            time = .number(renewal.time ?? max(self.clock, others.map(\.renewedAt).max() ?? 0))
            let renewedAt = renewal.time ?? self.clock
            self.change("leases") {
                $0.leases[renewal.server]?.renewals += 1
                $0.leases[renewal.server]?.renewedAt = renewedAt
                $0.leases[renewal.server]?.last = renewal
            }
        }
        var tookMaintenance = PostgreSQLValue.null
        if renewal.takesMaintenance { tookMaintenance = .flag(self.tryLockForSession(.maintenance)) }
        if renewal.isNews { self.notified.insert(LeaseChannel.acknowledged.rawValue) }
        return SimulatedRows(leases.map { $0 + [time, .number(self.clock), tookMaintenance, .null] })
    }
}

extension DatabaseTables {
    fileprivate mutating func account(_ commits: AccountedCommits) {
        guard let place = self.accounted.firstIndex(where: { $0.server == commits.server && $0.epoch == commits.epoch })
        else { return self.accounted.append(commits) }
        self.accounted[place].numbers.merge(commits.numbers) { max($0, $1) }
        self.accounted[place].total = max(self.accounted[place].total, commits.total)
    }
}
