internal import Synchronization
internal import Vocabulary

/// The times of wallets' last sessions that are not in the store yet; for operators only.
///
/// Writing each session would cost every unlock a commit, and writing every few seconds would cost
/// nearly every unlock a page; the sessions of a whole minute share pages. A crash loses the last
/// minute.
final class LastSessions: Sendable {
    /// The number of wallets remembered; for any further one the store keeps an older time.
    private static let capacity = 100_000
    /// The number that is written immediately, even if little time has passed.
    private static let batch = 50_000
    /// The interval between writes, on the server's clock.
    private static let interval: Duration = .seconds(60)

    private struct State {
        var pending: [WalletID: Timestamp] = [:]
        /// The times that are being written.
        var inFlight: [WalletID: Timestamp] = [:]
        var writtenAt = Timestamp(milliseconds: 0)

        mutating func takeAll() -> [WalletID: Timestamp] {
            defer { self.pending = [:] }
            self.inFlight.merge(self.pending) { max($0, $1) }
            return self.pending
        }
    }

    private let state = Mutex(State())

    /// Records the start of a session.
    func record(_ wallet: WalletID, at now: Timestamp) {
        self.state.withLock { state in
            guard state.pending.count < Self.capacity || state.pending[wallet] != nil else { return }
            state.pending[wallet] = max(now, state.pending[wallet] ?? now)
        }
    }

    /// The time of a wallet's last session, if the store does not have it yet.
    func last(of wallet: WalletID) -> Timestamp? {
        self.state.withLock { $0.pending[wallet] ?? $0.inFlight[wallet] }
    }

    /// Takes the times to be written now, none if a write is not due; ``confirm(_:)`` or
    /// ``putBack(_:)`` must follow.
    func takeDue(at now: Timestamp) -> [WalletID: Timestamp] {
        self.state.withLock { state in
            // A clock that was set back also makes it due.
            let isDue =
                now < state.writtenAt || now >= state.writtenAt + Self.interval || state.pending.count >= Self.batch
            guard isDue else { return [:] }
            state.writtenAt = now
            return state.takeAll()
        }
    }

    /// Takes all pending times, as ``takeDue(at:)`` does.
    func takeAll() -> [WalletID: Timestamp] { self.state.withLock { $0.takeAll() } }

    /// Notes that these times were written.
    func confirm(_ sessions: [WalletID: Timestamp]) {
        self.state.withLock { state in
            for (wallet, time) in sessions where state.inFlight[wallet] == time { state.inFlight[wallet] = nil }
        }
    }

    /// Puts back times that could not be written.
    func putBack(_ sessions: [WalletID: Timestamp]) {
        for (wallet, time) in sessions { self.record(wallet, at: time) }
        self.confirm(sessions)
    }
}
