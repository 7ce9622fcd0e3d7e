internal import HostSystem
internal import SQLiteClient

/// A reason why a store could not be opened.
///
/// Nothing in it was changed.
///
/// Show the text to the operator and exit.
package enum StoreOpenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process has this folder open.
    ///
    /// Stop that process first. Its id is nil if it is unknown.
    case inUse(pid: Int32?)
    /// The store was written by another version of the server, which is usually a newer one.
    ///
    /// Use that version.
    case newerVersion(found: Int, known: Int)
    /// There is no store at this path.
    ///
    /// Mount its volume or restore a backup. Only a new server needs a new one.
    case missing(path: String)
    /// A file in the folder is not one of the store's, or not the kind of file that it should be.
    ///
    /// Put the right file in its place.
    case foreignFile(String)
    /// The file is not a store or is damaged.
    ///
    /// Restore a backup.
    case notAStore
    /// The file is a backup.
    ///
    /// Restore it, which charges wallets for guesses that may have been made since the backup.
    case backup
    /// The store was copied into a shared database, which has counted attempts since.
    ///
    /// Use that database.
    case moved
    /// The disk is full, or a quota or limit is reached, as described.
    ///
    /// Free some space.
    case diskFull(String)
    /// Counted attempts are missing: the store ends before a commit that was synced.
    case damaged(StoreDamage)
    /// The database has objects that this program does not make, or lacks some that it makes.
    ///
    /// Restore a backup.
    case otherSchema([String])
    /// The files cannot be used, for the reason given.
    case files(String)

    package var description: String {
        switch self {
        case .inUse(let pid?): return "the data folder is in use by process \(pid); stop it first"
        case .inUse(nil): return "the data folder is in use by another process; stop it first"
        case .newerVersion(let found, let known):
            return
                "the store has version \(found), but this server reads up to version \(known); use the server that "
                + "wrote it, restore the backup made before the upgrade, or make a new lab"
        case .missing(let path):
            return
                "no store exists at \(path): is its volume mounted? If the store is lost, restore a backup with "
                + "`remote-pin-server restore`; only a new server gets an empty one, with `remote-pin-server init`"
        case .foreignFile(let reason): return "\(reason). Nothing was changed"
        case .notAStore: return "the file is not a wallet store, or it is damaged"
        case .backup:
            return "the file is a backup, which cannot be served directly; run `remote-pin-server restore`"
        case .moved:
            return
                "the store was copied into a PostgreSQL database, where attempts are counted now, so it is not served "
                + "here: set `store.kind` to postgresql. If the copy is unfinished, run `remote-pin-server store copy` "
                + "again. If the database is lost, restore a backup, in a new epoch, with `remote-pin-server restore`"
        case .diskFull(let reason):
            return "the disk is full or a limit is reached: \(reason); free some space, or raise the quota or limit"
        case .damaged(let damage):
            return
                "\(damage). Counted attempts are missing, so it is not served. Keep a copy of the folder. Then restore "
                + "a backup, or this store as far as it goes, in a new epoch: run `remote-pin-server backup FILE "
                + "--damaged`, move the data folder away, and run `remote-pin-server restore FILE`"
        case .otherSchema(let differences):
            return
                "the database is not as this program makes it: \(differences.joined(separator: "; ")). Another program "
                + "wrote to it, so it is not served. Keep a copy of the folder. Then restore a backup, or undo these "
                + "changes with sqlite3, make a backup and restore that, which charges every wallet"
        case .files(let reason): return reason
        }
    }
}

extension StoreOpenError {
    /// Converts an error that occurred while opening a store.
    init(_ error: any Error) {
        switch error {
        case let error as StoreOpenError: self = error
        case FileError.diskFull: self = .diskFull("\(error)")
        case FileError.odd: self = .foreignFile("\(error)")
        case let error as FileError: self = .files(error.description)
        case let error as DatabaseFile.IsOther:
            self = .foreignFile("SQLite opened \(error.opened) instead, so the name is a link; move the file here")
        case let error as SQLiteFailure:
            switch error.kind {
            case .lackOfRoom: self = .diskFull("\(error)")
            case .locked: self = .inUse(pid: nil)
            case .damaged, .notADatabase: self = .notAStore
            case .rejected, .other: self = .files("SQLite failed: \(error)")
            }
        default: self = .notAStore
        }
    }
}
