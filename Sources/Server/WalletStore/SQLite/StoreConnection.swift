internal import GRDB
import PINPolicy
import PreparedSQL
import Vocabulary

/// The database and its prepared statements; used by the store's thread alone.
final class StoreConnection {
    let db: Database
    private(set) var statements: Statements
    /// As it stands in the transaction: read again wherever something is undone, and otherwise changed here alone.
    private(set) var isSolutionRevoked = false
    /// What all epochs but the first cost, in their order; changed by a restore only, before anybody is served.
    private(set) var epochCharges: [EpochCharge] = []
    /// The store's epoch, from 1 on.
    private(set) var epoch: UInt32 = 1
    /// What is on file of the wallets that were judged lately, so that judging one again reads nothing.
    let known = KnownWallets()
    /// Set by a step that destroyed shares: the log is emptied before anyone is answered.
    var mustTruncateLog = false
    /// Copies of shares that were destroyed may be in the log.
    private var owesTruncation = false
    /// Wallets whose attempt records came to hold nothing in this transaction; a later step of it may have counted again.
    var justEmptied: [WalletKey] = []
    /// What is done on this thread once the transaction's steps are answered.
    var chores: [() -> Void] = []
    /// A copy that is being made.
    var copy: DatabaseCopy?
    /// The searches for a recovery code's wallets that are under way, each with those that were linked to any code meanwhile.
    ///
    /// Kept where a link is undone: whoever uses it looks at the row.
    var linkedDuring: [LinkSearch: Set<WalletID>] = [:]
    /// Those of the transactions before; when there are ``mostEmptied`` their rows go, with the next one.
    ///
    /// So the table stays small and a batch writes few pages; a wallet that comes again soon keeps its row; and no row
    /// goes in the commit that holds the verdict which emptied it.
    private var emptied: Set<WalletKey> = []
    private var dropsEmptied = false
    private static let emptyRecord = AttemptRecord().encoded()
    /// Rows that may hold nothing before they go: three pages of the table.
    private static let mostEmptied = 256

    init(_ db: Database) throws {
        self.db = db
        try self.known.attach(to: db)
        self.statements = try Statements(db)
        try self.readEpochs()
        try self.readSolution()
    }

    /// Reads which epochs there are.
    func readEpochs() throws {
        self.epochCharges = try self.epochs().map { EpochCharge($0.rule, openedAt: $0.openedAt) }
        self.epoch = UInt32(self.epochCharges.count + 1)
    }

    func begin() throws {
        self.justEmptied = []
        if !self.chores.isEmpty { self.chores = [] }
        try self.statements.begin.run()
        self.dropsEmptied = self.emptied.count >= Self.mostEmptied
        if self.dropsEmptied { for wallet in self.emptied { try self.dropAttemptsIfEmpty(of: wallet) } }
    }

    /// Removes a row that says nothing; the row itself decides, so that no count can be lost here.
    func dropAttemptsIfEmpty(of wallet: WalletKey) throws {
        self.known.forgetAll()
        let statement = self.statements.dropAttempts
        statement.bind(wallet.number, at: 1)
        statement.bind(Self.emptyRecord, at: 2)
        try statement.run()
    }

    func commit() throws {
        try self.statements.commit.run()
        if self.dropsEmptied { self.emptied.removeAll(keepingCapacity: true) }
        self.emptied.formUnion(self.justEmptied)
    }

    func rollBack() throws {
        // SQLite has done it already after some failures.
        if self.db.isInsideTransaction { try self.db.execute(sql: "ROLLBACK") }
        try self.startAgain()
    }

    func beginStep() throws {
        try self.db.execute(sql: "SAVEPOINT step")
    }

    func endStep() throws {
        try self.db.execute(sql: "RELEASE step")
    }

    func undoStep() throws {
        try self.db.execute(sql: "ROLLBACK TO step; RELEASE step")
        try self.startAgain()
    }

    /// After something was undone: replaces the statements, since one that failed fails once more when it is used again
    /// (`sqlite3_reset(3)`), and reads again what may have been changed.
    private func startAgain() throws {
        self.known.forgetAll()
        self.statements = try Statements(self.db)
        try self.readSolution()
    }

    /// Copies the log into the database and cuts it to nothing.
    func truncateLog() throws {
        _ = try self.db.checkpoint(.truncate)
        self.owesTruncation = false
    }

    /// This step destroyed shares, or other values that must not be read any more.
    func noteDestroyed() {
        self.owesTruncation = true
        self.mustTruncateLog = true
    }

    /// This step would have destroyed what was destroyed before: the log is emptied if that failed then, or is still to come.
    ///
    /// Not in any case: whoever has ended his wallet could have every batch of others' attempts wait for it.
    func noteDestroyedBefore() {
        if self.owesTruncation { self.mustTruncateLog = true }
    }

    func setSolutionRevoked(_ revoked: Bool) throws {
        try self.db.execute(sql: "UPDATE solution SET revoked = ?", arguments: [revoked ? 1 : 0])
        try self.readSolution()
    }

    private func readSolution() throws {
        guard let isRevoked = try self.statements.solution.first({ row in row.number(0).map { $0 != 0 } }) ?? nil else {
            throw StoreError.corrupt
        }
        self.isSolutionRevoked = isRevoked
    }
}

/// Every statement of a step that is done often, compiled once.
struct Statements {
    let begin, commit, solution: PreparedStatement
    let wallet, keepWallet, isDenied: PreparedStatement
    let attempted, addAttempts, changeAttempts, dropAttempts: PreparedStatement

    init(_ db: Database) throws {
        self.begin = try PreparedStatement("BEGIN IMMEDIATE", on: db)
        self.commit = try PreparedStatement("COMMIT", on: db)
        self.solution = try PreparedStatement("SELECT revoked FROM solution", on: db)
        self.attempted = try PreparedStatement(
            """
            SELECT wallets.key, state, pin_key_id, unlock_share, record, identity
            FROM wallets LEFT JOIN attempts ON attempts.wallet = wallets.key WHERE id = ?
            """,
            on: db
        )
        self.wallet = try PreparedStatement("SELECT \(WalletRow.columns) FROM wallets WHERE id = ?", on: db)
        self.addAttempts = try PreparedStatement(
            "INSERT INTO attempts (wallet, record) VALUES (?1, ?2) ON CONFLICT (wallet) DO NOTHING",
            on: db
        )
        self.changeAttempts = try PreparedStatement(
            "UPDATE attempts SET record = ?2 WHERE wallet = ?1 AND record = ?3",
            on: db
        )
        self.dropAttempts = try PreparedStatement(
            "DELETE FROM attempts WHERE wallet = ? AND substr(record, 1, \(AttemptRecord.byteCount)) = ?",
            on: db
        )
        self.keepWallet = try PreparedStatement(
            """
            UPDATE wallets SET state = ?, pin_key_id = ?, unlock_share = ?, identity = ?, presence_share = ?,
                deletion_code = ?, recovery_mac = ? WHERE key = ?
            """,
            on: db
        )
        self.isDenied = try PreparedStatement("SELECT 1 FROM denied_recovery_codes WHERE mac = ?", on: db)
    }
}

extension Statement {
    /// Reads the first row, if there is one; the row is lent, because the statement owns its bytes.
    func first<Value>(_ arguments: StatementArguments, _ read: (Row) throws -> Value) throws -> Value? {
        self.setUncheckedArguments(arguments)
        let rows = try Row.fetchCursor(self)
        return try withExtendedLifetime(rows) { try rows.next().map(read) }
    }

    func run(_ arguments: StatementArguments) throws {
        self.setUncheckedArguments(arguments)
        try self.execute()
    }
}
