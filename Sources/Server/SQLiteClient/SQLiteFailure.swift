internal import CSQLite
internal import Glibc
internal import HostSystem

/// A failed SQLite call, with everything an operator needs to look it up: the name of the extended code, the system
/// error, and the file.
///
///     SQLITE_FULL (13), no space left on device (ENOSPC): free some space, /var/lib/remote-pin/data/wallets.db
package struct SQLiteFailure: Error, Hashable, CustomStringConvertible, Sendable {
    /// The extended result code.
    package let code: Int32
    package let description: String
    /// Whether the file system had no room, so that nothing was written and the call may be repeated.
    package let isLackOfRoom: Bool

    /// - Important: Must be created right after the failed call, because SQLite only keeps the connection's last system
    ///   error.
    init(_ code: Int32, of connection: OpaquePointer?) {
        self.code = code
        var text = Self.name(of: code)
        var number = unsafe sqlite3_system_errno(connection)
        if code == Self.failedWrite { number = unsafe Self.writeError(of: connection) }
        self.isLackOfRoom = Self.isLackOfRoom(code, number)
        // SQLite sets the system error only when a file operation fails, and never resets it.
        if [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_FULL].contains(code & 0xFF), number != 0 {
            let error = self.isLackOfRoom ? FileError.diskFull("", errno: number) : .other("", errno: number)
            text += ", \(error.reason)"
        }
        let path = unsafe connection.flatMap { unsafe sqlite3_db_filename($0, "main") }.map {
            unsafe String(cString: $0)
        }
        if let path, !path.isEmpty { text += ", \(path)" }
        self.description = text
    }

    /// Returns whether a write failed for lack of room: a full disk, a quota, or a limit on file sizes.
    ///
    /// SQLite reports only ENOSPC as `SQLITE_FULL`. The other two fail in write(2) as well, before any page is changed.
    /// A failed sync is different, because pages may be lost: it is never a lack of room.
    package static func isLackOfRoom(_ code: Int32, _ systemError: Int32) -> Bool {
        code & 0xFF == SQLITE_FULL || code == self.failedWrite && self.roomErrors.contains(systemError)
    }

    /// Whether reading failed, and so the source of a copy: nothing is read from the destination.
    package var isOfReading: Bool {
        // SQLITE_IOERR_READ and SQLITE_IOERR_SHORT_READ are macros with casts, which Swift cannot import (sqlite3.h).
        [.damaged, .notADatabase].contains(self.kind)
            || [SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 2 << 8].contains(self.code)
    }

    private static let roomErrors = [ENOSPC, EDQUOT, EFBIG]
    /// `SQLITE_IOERR_WRITE`, a macro with a cast, which Swift cannot import (sqlite3.h).
    private static let failedWrite = SQLITE_IOERR | 3 << 8

    /// Returns the system error of the last failed write of the database or its log, or 0 if there is none.
    ///
    /// A failed COMMIT does not set `sqlite3_system_errno(3)`, but SQLite keeps the last error of each file and never
    /// resets it. An error that is no lack of room therefore takes precedence: the process ends after the first one.
    private static func writeError(of connection: OpaquePointer?) -> Int32 {
        let operations = [SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER]
        let errors = operations.map { operation -> Int32 in
            var file: UnsafeMutablePointer<sqlite3_file>?
            let found = unsafe sqlite3_file_control(connection, "main", operation, &file)
            guard found == SQLITE_OK, let file = unsafe file, let methods = unsafe file.pointee.pMethods else {
                return 0
            }
            var number: Int32 = 0
            _ = unsafe methods.pointee.xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number)
            return number
        }.filter { $0 != 0 }
        return errors.first { !self.roomErrors.contains($0) } ?? errors.first ?? 0
    }

    /// A kind of failure, by its consequence.
    package enum Kind: Sendable {
        /// The disk is full, or a quota or limit is reached: nothing was written.
        case lackOfRoom
        /// Another process or connection has the lock.
        case locked
        /// Pages contradict each other.
        case damaged
        case notADatabase
        /// The statement cannot be carried out with these values.
        case rejected
        /// Among them every other file error.
        case other
    }

    package var kind: Kind {
        if self.isLackOfRoom { return .lackOfRoom }
        return switch self.code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: .locked
        case SQLITE_CORRUPT: .damaged
        case SQLITE_NOTADB: .notADatabase
        case SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG, SQLITE_RANGE: .rejected
        default: .other
        }
    }

    /// Returns the name and number of an extended result code, such as `SQLITE_IOERR_FSYNC (1034)`.
    package static func name(of code: Int32) -> String {
        let (primary, detail) = (Int(code & 0xFF), Int(code >> 8))
        guard self.primary.indices.contains(primary) else { return "SQLITE_\(code)" }
        let details = self.details[self.primary[primary]] ?? []
        let suffix = (1...max(1, details.count)).contains(detail) && !details.isEmpty ? "_\(details[detail - 1])" : ""
        return "SQLITE_\(self.primary[primary])\(suffix) (\(code))"
    }

    // In numerical order (sqlite3.h). The macros for the extended codes contain casts, so Swift cannot import them.
    private static let primary = [
        "OK", "ERROR", "INTERNAL", "PERM", "ABORT", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR",
        "CORRUPT", "NOTFOUND", "FULL", "CANTOPEN", "PROTOCOL", "EMPTY", "SCHEMA", "TOOBIG", "CONSTRAINT", "MISMATCH",
        "MISUSE", "NOLFS", "AUTH", "FORMAT", "RANGE", "NOTADB",
    ]
    private static let details = [
        "BUSY": ["RECOVERY", "SNAPSHOT", "TIMEOUT"],
        "READONLY": ["RECOVERY", "CANTLOCK", "ROLLBACK", "DBMOVED", "CANTINIT", "DIRECTORY"],
        "IOERR": [
            "READ", "SHORT_READ", "WRITE", "FSYNC", "DIR_FSYNC", "TRUNCATE", "FSTAT", "UNLOCK", "RDLOCK", "DELETE",
            "BLOCKED", "NOMEM", "ACCESS", "CHECKRESERVEDLOCK", "LOCK", "CLOSE", "DIR_CLOSE", "SHMOPEN", "SHMSIZE",
            "SHMLOCK", "SHMMAP", "SEEK", "DELETE_NOENT", "MMAP", "GETTEMPPATH", "CONVPATH", "VNODE", "AUTH",
            "BEGIN_ATOMIC", "COMMIT_ATOMIC", "ROLLBACK_ATOMIC", "DATA", "CORRUPTFS", "IN_PAGE",
        ],
        "CORRUPT": ["VTAB", "SEQUENCE", "INDEX"],
        "CANTOPEN": ["NOTEMPDIR", "ISDIR", "FULLPATH", "CONVPATH", "DIRTYWAL", "SYMLINK"],
    ]
}
