internal import Synchronization
internal import Vocabulary
internal import Wire

/// A free slot whose wallet is being registered.
struct PendingRegistration: Sendable {
    let slot: Int
    let platform: Platform
    /// The server's enrollment, until it is used or rejected.
    var enrollment: Enrollment?
    /// The number of registrations sent that got no response.
    var attempt: UInt32 = 0
}

/// A queue of free slots, each handed out to one lane at a time.
final class EnrollmentQueue: Sendable {
    private struct State {
        /// The number of gaps handed out so far.
        var gap = 0
        /// The next slot after all gaps.
        var tail: Int
        /// The number of registrations that may still be started.
        var left: Int
        /// Unfinished registrations.
        ///
        /// They are handed out first, because their enrollments expire.
        var returned: [PendingRegistration] = []
        var isClosed = false
    }

    private let gaps: [Int]
    private let end: Int
    private let share: PlatformShare
    private let state: Mutex<State>

    /// - Parameter goal: The number of wallets that the file should contain.
    init(_ fleet: Fleet, goal: Int, share: PlatformShare) {
        self.gaps = fleet.gaps
        self.end = fleet.slotCount
        self.share = share
        self.state = Mutex(State(tail: fleet.count + fleet.gaps.count, left: goal - fleet.count))
    }

    /// Returns the next registration, or nil if there are none left or the queue is closed.
    func take() -> PendingRegistration? {
        self.state.withLock { state in
            guard !state.isClosed else { return nil }
            if let returned = state.returned.popLast() { return returned }
            guard state.left > 0 else { return nil }
            let slot: Int
            if state.gap < self.gaps.count {
                slot = self.gaps[state.gap]
                state.gap += 1
            } else {
                guard state.tail < self.end else { return nil }
                slot = state.tail
                state.tail += 1
            }
            state.left -= 1
            return PendingRegistration(slot: slot, platform: self.share.platform(of: slot))
        }
    }

    /// Returns an unfinished registration to the queue.
    func putBack(_ wallet: PendingRegistration?) {
        guard let wallet else { return }
        self.state.withLock { $0.returned.append(wallet) }
    }

    /// Stops handing out registrations.
    func close() { self.state.withLock { $0.isClosed = true } }

    var isClosed: Bool { self.state.withLock(\.isClosed) }
}
