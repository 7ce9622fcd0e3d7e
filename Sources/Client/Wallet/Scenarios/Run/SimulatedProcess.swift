internal import Synchronization

/// The simulated processes of the app.
///
/// One instance stands for all of them in succession. ``restart()`` begins the next one, which opens the disk anew.
final class SimulatedProcess: Sendable {
    private enum State {
        case alive
        /// Survives `afterWrites` more writes and dies at the one after that, which was planned as write number
        /// `atWrite`.
        case dies(afterWrites: Int, atWrite: Int)
        case dead
    }

    private let state = Mutex(State.alive)

    var isDead: Bool {
        self.state.withLock { state in
            if case .dead = state { true } else { false }
        }
    }

    /// Makes the process die right before the n-th write from now.
    func crash(beforeWrite number: Int) { self.state.withLock { $0 = .dies(afterWrites: number - 1, atWrite: number) } }

    /// The planned write and the number of writes since the crash was planned, or nil if no crash is planned.
    var plannedCrash: (atWrite: Int, writes: Int)? {
        self.state.withLock { state in
            guard case .dies(let left, let number) = state else { return nil }
            return (number, number - 1 - left)
        }
    }

    /// Replaces a dead process with a new one that has no planned crash.
    func restart() { self.state.withLock { $0 = .alive } }

    /// Counts a write.
    ///
    /// Returns false if the process is dead, in which case the write must not happen.
    func survivesWrite() -> Bool {
        self.state.withLock { state in
            switch state {
            case .alive: return true
            case .dead: return false
            case .dies(afterWrites: 0, atWrite: _):
                state = .dead
                return false
            case .dies(let writes, let number):
                state = .dies(afterWrites: writes - 1, atWrite: number)
                return true
            }
        }
    }
}
