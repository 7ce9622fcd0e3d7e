internal import Glibc

package enum LockError: Error, Hashable, Sendable {
    /// Another process is holding the lock.
    ///
    /// Tell the user its id, which is nil if the process has not written it yet.
    case heldBy(pid: Int32?)
    /// The lock file cannot be used.
    case file(FileError)
}

/// An inter-process lock: an exclusive `flock` on a file, held for the lifetime of the value.
///
/// The kernel releases it when the process exits for any reason, so locks never become stale. This is a class because
/// it is shared by objects that live as long as the process. It has no mutable state.
package final class FileLock: Sendable {
    private let file: Descriptor

    /// Acquires the lock without waiting.
    ///
    /// If another process is holding it, throws an error with the id of that process.
    package convenience init(_ path: String) throws(LockError) {
        try self.init(path, LOCK_EX | LOCK_NB)
    }

    /// Waits for the lock; only use this for critical sections that are as short as writing a file.
    package convenience init(waitingFor path: String) throws(FileError) {
        do throws(LockError) {
            try self.init(path, LOCK_EX)
        } catch {
            switch error {
            case .heldBy: preconditionFailure("a lock that is waited for is not refused")
            case .file(let error): throw error
            }
        }
    }

    /// Locks a folder, for a short change of names in it that two processes must not make at the same time.
    ///
    /// A folder exists already, and any user who may change it can lock it, so no lock file of another user stays
    /// behind. Waits at most a second, because any user who may list the folder can hold the lock.
    package init(folder path: String) throws(LockError) {
        self.file = try mapError(Descriptor(opening: path, flags: O_RDONLY | O_DIRECTORY), to: LockError.file)
        for _ in 0..<100 {
            if flock(self.file.number, LOCK_EX | LOCK_NB) == 0 { return }
            usleep(10_000)
        }
        throw .heldBy(pid: nil)
    }

    private init(_ path: String, _ operation: Int32) throws(LockError) {
        // Through a link, the process id below would overwrite another file.
        self.file = try mapError(Descriptor(regular: path, flags: O_RDWR | O_CREAT, mode: 0o600), to: LockError.file)
        do throws(FileError) {
            try SystemCall.retrying(path) { flock(self.file.number, operation) }
        } catch .other(_, EWOULDBLOCK) {
            throw .heldBy(pid: Self.holder(path))
        } catch {
            throw .file(error)
        }
        try mapError(SystemCall.retrying(path) { ftruncate(self.file.number, 0) }, to: LockError.file)
        try mapError(self.file.write(Array("\(getpid())\n".utf8)), to: LockError.file)
    }

    /// Releases the lock explicitly, because closing the file is not enough.
    ///
    /// A child process that has just been forked still has the file open until it calls exec, and would hold the lock
    /// until then.
    deinit { flock(self.file.number, LOCK_UN) }

    /// Returns the id of the process holding the lock, or nil if there is none.
    ///
    /// This reads the kernel's table of locks (proc_locks(5)). If we tried to take the lock instead, even for a moment,
    /// a server starting at the same time could fail.
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

    /// Returns the id of the last process that has written its id to the file.
    ///
    /// It may have exited since.
    package static func holder(_ path: String) -> Int32? {
        // A second name of the file changes nothing about its lock.
        guard let file = try? Descriptor(regular: path, flags: O_RDONLY, hasOneName: false),
            let bytes = try? file.read(32, at: 0)
        else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self))
    }
}
