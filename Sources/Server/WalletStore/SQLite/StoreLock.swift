internal import Synchronization
internal import HostSystem

/// The lock on a store's folder, held by one process.
///
/// This is a class, because the store's thread releases it before any waiting caller reopens the folder.
final class StoreLock: Sendable {
    private let lock: Mutex<FileLock?>

    init(folder: String, creating: Bool) throws(StoreOpenError) {
        if creating, !DurableFile.exists(folder) {
            try mapError(DurableFile.makeFolder(folder), to: StoreOpenError.init)
        }
        guard DurableFile.isFolder(folder) else { throw .missing(path: folder) }
        do throws(LockError) {
            self.lock = Mutex(try FileLock(folder + "/lock"))
        } catch {
            switch error {
            case .heldBy(let pid): throw .inUse(pid: pid)
            case .file(let error): throw StoreOpenError(error)
            }
        }
    }

    func release() {
        self.lock.withLock { $0 = nil }
    }
}
