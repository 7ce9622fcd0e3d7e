internal import Synchronization
internal import Vocabulary

/// The times of wallets' last sessions that have not been written to the store yet.
///
/// Only operators need them. Writing each session at once would cost every unlock a commit. Writing every few seconds
/// would cost nearly every unlock a page, whereas a whole minute's sessions share pages. A crash loses the last minute.
final class LastSessions: Sendable {
    /// The maximum number of wallets to remember.
    ///
    /// For all others, the store keeps an older time.
    private static let capacity = 100_000
    /// The number of wallets that triggers a write, even if little time has passed.
    private static let batch = 50_000
    /// The interval between writes, measured with the server's clock.
    private static let interval: Duration = .seconds(60)

    private struct State {
        var pending: [WalletID: Timestamp] = [:]
        /// The times being written.
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

    /// Returns the time of a wallet's last session if it has not been written to the store yet.
    func last(of wallet: WalletID) -> Timestamp? {
        self.state.withLock { $0.pending[wallet] ?? $0.inFlight[wallet] }
    }

    /// Takes the times that must be written now.
    ///
    /// Returns none if no write is due. The caller must then call ``confirm(_:)`` or ``putBack(_:)``.
    func takeDue(at now: Timestamp) -> [WalletID: Timestamp] {
        self.state.withLock { state in
            // If the clock was set back, the write is also due.
            let isDue =
                now < state.writtenAt || now >= state.writtenAt + Self.interval || state.pending.count >= Self.batch
            guard isDue else { return [:] }
            state.writtenAt = now
            return state.takeAll()
        }
    }

    /// Takes all pending times.
    ///
    /// Otherwise like ``takeDue(at:)``.
    func takeAll() -> [WalletID: Timestamp] { self.state.withLock { $0.takeAll() } }

    /// Records that these times were written.
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
