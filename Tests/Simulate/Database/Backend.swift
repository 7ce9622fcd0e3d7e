internal import PostgreSQLClient
internal import Vocabulary

/// The database's end of a connection.
final class Backend {
    let process: SimulatedProcess
    /// The number of the server that has connected; nil for an operator's program.
    let server: Int?
    /// The transaction that the client has begun.
    var transaction: DatabaseTransaction?
    /// Holds the locks that last as long as the session.
    let session = DatabaseTransaction()
    /// A statement runs, waits for a lock, or waits for the standby.
    var isBusy = false
    /// The client has closed its end.
    var isAbandoned = false
    /// The client sees that the connection is lost.
    var isLost = false
    /// The database has ended the session.
    var isOver = false
    var channels: Set<String> = []
    private(set) var notified: Set<String> = []
    /// Called when there is a notification, or when the connection is lost.
    var onNews: (() -> Void)?
    /// Answers the statement in progress, which a lost connection ends.
    var onLoss: (() -> Void)?

    init(_ process: SimulatedProcess, server: Int?) {
        self.process = process
        self.server = server
    }

    func notify(_ channel: String) {
        self.notified.insert(channel)
        self.onNews?()
    }

    func takeNotified() -> Set<String> {
        defer { self.notified = [] }
        return self.notified
    }

    func lose() {
        self.isLost = true
        self.onLoss?()
        self.onNews?()
    }
}

/// A transaction: its changes and its locks.
final class DatabaseTransaction {
    typealias Change = (inout DatabaseTables) -> Void

    var changes: [Change] = []
    /// The names of the changed tables.
    var tables: Set<String> = []
    /// The channels to notify after the commit.
    var notified: Set<String> = []
    /// A statement failed, so that the transaction can only be rolled back.
    var hasFailed = false
}

/// The answer to a statement.
enum DatabaseAnswer {
    /// `isWarned` after a commit whose wait for the standby was cancelled.
    case rows(SimulatedRows, isWarned: Bool)
    /// An error with this SQLSTATE.
    case rejected(String)
    case lost
}

/// A lock of a row, of a table, or by a number.
enum DatabaseLock: Hashable {
    case facts
    case revocationCount
    case commitNumber(DatabaseTables.Lane)
    case lease(String)
    case wallet(WalletID)
    case recoveryCode([UInt8])
    case advisory(Int64)
    /// The lock of the server that does the maintenance.
    case maintenance
}
