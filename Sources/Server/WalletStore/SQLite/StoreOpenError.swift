internal import GRDB
internal import HostSystem

/// Why a store was not opened; nothing in it was changed.
///
/// Show the text and end.
package enum StoreOpenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process serves this folder; nil where its id is not known. Stop that one first.
    case inUse(pid: Int32?)
    /// A newer version of the server wrote it; use that one.
    case newerVersion(found: Int, known: Int)
    /// There is no store at this path; it is made by `init`.
    case missing(path: String)
    /// The file is not a store, or is damaged; restore a backup.
    case notAStore
    /// The file is a backup: restore it, which counts what may have been guessed since.
    case backup
    /// The disk is full; make room.
    case diskFull
    /// The files cannot be used; the text says why.
    case files(String)

    package var description: String {
        switch self {
        case .inUse(let pid?): return "the data folder is in use by process \(pid); stop it first"
        case .inUse(nil): return "the data folder is in use by another process; stop it first"
        case .newerVersion(let found, let known):
            return "the store has version \(found), this server knows versions up to \(known)"
        case .missing(let path): return "there is no store at \(path)"
        case .notAStore: return "the file is not a wallet store, or it is damaged"
        case .backup:
            return "the file is a backup, which is not served as it is; use `remote-pin-server restore`"
        case .diskFull: return "the disk is full"
        case .files(let reason): return reason
        }
    }
}

extension StoreOpenError {
    /// What an error on the way to an open store means to the operator.
    init(_ error: any Error) {
        switch error {
        case let error as StoreOpenError: self = error
        case FileError.diskFull: self = .diskFull
        case let error as FileError: self = .files(error.description)
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_FULL: self = .diskFull
            case .SQLITE_BUSY, .SQLITE_LOCKED: self = .inUse(pid: nil)
            case .SQLITE_NOTADB, .SQLITE_CORRUPT: self = .notAStore
            default: self = .files("SQLite failed with code \(error.extendedResultCode.rawValue)")
            }
        default: self = .notAStore
        }
    }
}
