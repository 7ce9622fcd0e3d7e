internal import Synchronization
internal import Vocabulary
internal import Wire

/// A slot that waits for its wallet.
struct PendingWallet: Sendable {
    let slot: Int
    let platform: Platform
    /// What the server gave for it, until it is used or refused.
    var enrollment: Enrollment?
    /// How often a registration was sent that got no answer.
    var attempt: UInt32 = 0
}

/// The slots without a wallet, each given to one lane at a time.
final class EnrollmentQueue: Sendable {
    private struct State {
        /// Of the gaps, those that were given out.
        var gap = 0
        /// The next slot behind all gaps.
        var tail: Int
        /// How many more may be begun.
        var left: Int
        /// What lanes could not finish; goes first, since an enrollment that is under way ends with its time.
        var returned: [PendingWallet] = []
        var isClosed = false
    }

    private let gaps: [Int]
    private let end: Int
    private let share: PlatformShare
    private let state: Mutex<State>

    /// - Parameter goal: how many wallets the file is to hold then.
    init(_ fleet: Fleet, goal: Int, share: PlatformShare) {
        self.gaps = fleet.gaps
        self.end = fleet.slotCount
        self.share = share
        self.state = Mutex(State(tail: fleet.count + fleet.gaps.count, left: goal - fleet.count))
    }

    /// The next one; nil where there is none, or no more are to be begun.
    func take() -> PendingWallet? {
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
            return PendingWallet(slot: slot, platform: self.share.platform(of: slot))
        }
    }

    /// Takes back what could not be finished.
    func giveBack(_ wallet: PendingWallet?) {
        guard let wallet else { return }
        self.state.withLock { $0.returned.append(wallet) }
    }

    /// Gives out no more.
    func close() { self.state.withLock { $0.isClosed = true } }

    var isClosed: Bool { self.state.withLock(\.isClosed) }
}
