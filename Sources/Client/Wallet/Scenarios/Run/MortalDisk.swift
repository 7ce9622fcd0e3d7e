internal import Synchronization
internal import WalletCore

/// The app's storage on a phone whose process may die right before one of its writes.
///
/// Every write is atomic, so that dying between two of them is all that can happen to the storage.
final class MortalDisk: LocalDisk {
    private let disk: any LocalDisk
    private let fate: Fate

    /// When the process dies; outlives the disk, which every process opens anew.
    final class Fate: Sendable {
        private enum State {
            case alive
            /// Before the write after so many others.
            case dies(afterWrites: Int)
            case dead
        }

        private let state = Mutex(State.alive)

        var isDead: Bool {
            self.state.withLock { state in
                if case .dead = state { true } else { false }
            }
        }

        /// The process dies right before the n-th write from now.
        func dies(beforeWrite number: Int) { self.state.withLock { $0 = .dies(afterWrites: number - 1) } }

        /// A new process: nothing threatens it.
        func revive() { self.state.withLock { $0 = .alive } }

        /// Whether the process lives to do a write.
        func outlivesWrite() -> Bool {
            self.state.withLock { state in
                switch state {
                case .alive: return true
                case .dead: return false
                case .dies(afterWrites: 0):
                    state = .dead
                    return false
                case .dies(let writes):
                    state = .dies(afterWrites: writes - 1)
                    return true
                }
            }
        }
    }

    init(_ disk: any LocalDisk, _ fate: Fate) {
        self.disk = disk
        self.fate = fate
    }

    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? { try self.disk.read(file) }

    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        guard self.fate.outlivesWrite() else { throw Self.inputOutputError }
        try self.disk.write(bytes, to: file)
    }

    func remove(_ file: LocalFile) throws(LocalDiskError) {
        guard self.fate.outlivesWrite() else { throw Self.inputOutputError }
        try self.disk.remove(file)
    }

    private static let inputOutputError = LocalDiskError("the process has ended")
}
