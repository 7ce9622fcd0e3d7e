internal import Glibc

/// The reason why a lock was not taken.
package enum LockError: Error, Hashable, Sendable {
    /// Another process holds the lock; tell the user its id, which is nil if the holder has not written it yet.
    case heldBy(pid: Int32?)
    /// The lock's file cannot be used.
    case file(FileError)
}

/// A lock between processes: an exclusive `flock` on a file, held for the lifetime of the value.
///
/// The kernel releases it when the process ends, for any reason, so no stale lock remains. The type is a class
/// because objects that live as long as the process share it; it has no mutable state.
package final class FileLock: Sendable {
    private let file: Descriptor

    /// Takes the lock, or throws the holder's id without waiting.
    package convenience init(_ path: String) throws(LockError) {
        try self.init(path, LOCK_EX | LOCK_NB)
    }

    /// Waits for the lock; only for critical sections as short as writing one file.
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

    /// Releases the lock explicitly rather than only closing the file.
    ///
    /// A child process that is being started has the file open until it executes its program, and would hold the lock
    /// until then.
    deinit {
        flock(self.file.number, LOCK_UN)
    }

    /// The process that holds the lock; nil if none does.
    ///
    /// Read from the kernel's table (proc_locks(5)): taking the lock, even for a moment, could make a starting server
    /// fail.
    package static func currentHolder(_ path: String) -> Int32? {
        guard let pid = self.holder(path), let inode = try? DurableFile.inode(of: path),
            let table = try? DurableFile.read("/proc/locks", atMost: 1 << 22)
        else { return nil }
        // 1: FLOCK  ADVISORY  WRITE 1386 fe:00:16246530 0 EOF
        let isHeld = String(decoding: table, as: UTF8.self).split(separator: "\n").contains { line in
            let words = line.split(separator: " ")
            return words.count > 5 && words[1] == "FLOCK" && words[4] == "\(pid)" && words[5].hasSuffix(":\(inode)")
        }
        return isHeld ? pid : nil
    }

    /// The process that last wrote its id into the file; it may have ended since.
    package static func holder(_ path: String) -> Int32? {
        guard let bytes = try? DurableFile.read(path, atMost: 32) else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self))
    }
}
