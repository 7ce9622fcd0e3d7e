internal import Synchronization

/// The life of the app's process; it outlives the disk, which every new process opens again.
final class SimulatedProcess: Sendable {
    private enum State {
        case alive
        /// Dies at the next write after this many others.
        case dies(afterWrites: Int)
        case dead
    }

    private let state = Mutex(State.alive)

    var isDead: Bool {
        self.state.withLock { state in
            if case .dead = state { true } else { false }
        }
    }

    /// Makes the process die right before the n-th write from now.
    func crash(beforeWrite number: Int) { self.state.withLock { $0 = .dies(afterWrites: number - 1) } }

    /// Replaces a dead process with a new one, without a planned crash.
    func restart() { self.state.withLock { $0 = .alive } }

    /// Returns whether the process is alive to perform a write, and counts the write.
    func survivesWrite() -> Bool {
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
