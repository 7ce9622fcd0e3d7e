internal import Glibc

/// Why a lock was not taken.
package enum LockError: Error, Hashable, Sendable {
    /// Another process has it; tell the person which. Nil where it has not written its id yet.
    case heldBy(pid: Int32?)
    /// The lock's file cannot be used.
    case file(FileError)
}

/// One process at a time: an exclusive `flock` on a file, held until the value goes.
///
/// The kernel frees it with the process, however that ends, so no lock is ever left behind. A class because it is held
/// by whatever lives as long as the process; nothing in it changes.
package final class FileLock: Sendable {
    private let file: Descriptor

    /// Takes the lock or says at once who has it; never waits.
    package convenience init(_ path: String) throws(LockError) {
        try self.init(path, LOCK_EX | LOCK_NB)
    }

    /// Takes the lock, and waits for whoever has it: only for steps as short as writing one file.
    package convenience init(waitingFor path: String) throws(LockError) {
        try self.init(path, LOCK_EX)
    }

    private init(_ path: String, _ operation: Int32) throws(LockError) {
        do throws(FileError) {
            self.file = try Descriptor(opening: path, flags: O_RDWR | O_CREAT, mode: 0o600)
        } catch {
            throw .file(error)
        }
        do throws(FileError) {
            try SystemCall.retrying(path) { flock(self.file.number, operation) }
        } catch .other(_, EWOULDBLOCK) {
            throw .heldBy(pid: Self.holder(path))
        } catch {
            throw .file(error)
        }
        do throws(FileError) {
            try SystemCall.retrying(path) { ftruncate(self.file.number, 0) }
            try self.file.write(Array("\(getpid())\n".utf8))
        } catch {
            throw .file(error)
        }
    }

    /// Freed by name and not only by closing: a child that this process is just starting has the file open until it runs
    /// its program, and would keep the lock that long.
    deinit {
        flock(self.file.number, LOCK_UN)
    }

    /// The process that wrote its id into the file last; whether it still runs is not known.
    package static func holder(_ path: String) -> Int32? {
        guard let bytes = try? DurableFile.read(path, atMost: 32) else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self))
    }
}
