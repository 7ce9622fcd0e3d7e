internal import Synchronization
internal import Vocabulary

/// When wallets had their last sessions, until the store is told; for operators only.
///
/// A write for each session would cost every unlock a commit, and telling the store every few seconds a page for nearly
/// each of them; the sessions of a minute share pages. What a crash loses is the last minute.
final class LastSessions: Sendable {
    /// Wallets remembered; further ones are not, which only leaves an older time on file.
    private static let capacity = 100_000
    /// So many are told at once, however soon they came.
    private static let many = 50_000
    /// How long the store is told nothing, on the server's clock.
    private static let patience: Duration = .seconds(60)

    private struct State {
        var waiting: [WalletID: Timestamp] = [:]
        /// What the store is being told.
        var leaving: [WalletID: Timestamp] = [:]
        var toldAt = Timestamp(milliseconds: 0)

        mutating func takeAll() -> [WalletID: Timestamp] {
            defer { self.waiting = [:] }
            self.leaving.merge(self.waiting) { max($0, $1) }
            return self.waiting
        }
    }

    private let state = Mutex(State())

    /// A session began.
    func note(_ wallet: WalletID, at now: Timestamp) {
        self.state.withLock { state in
            guard state.waiting.count < Self.capacity || state.waiting[wallet] != nil else { return }
            state.waiting[wallet] = max(now, state.waiting[wallet] ?? now)
        }
    }

    /// The last session that the store does not know yet.
    func last(of wallet: WalletID) -> Timestamp? {
        self.state.withLock { $0.waiting[wallet] ?? $0.leaving[wallet] }
    }

    /// Takes what the store is to be told now, nothing where that can wait; ``told(_:)`` or ``putBack(_:)`` must follow.
    func takeDue(at now: Timestamp) -> [WalletID: Timestamp] {
        self.state.withLock { state in
            // Also where the clock was set back.
            let isDue = now < state.toldAt || now >= state.toldAt + Self.patience || state.waiting.count >= Self.many
            guard isDue else { return [:] }
            state.toldAt = now
            return state.takeAll()
        }
    }

    /// Takes all that waits, in the same way.
    func takeAll() -> [WalletID: Timestamp] { self.state.withLock { $0.takeAll() } }

    /// The store knows these.
    func told(_ sessions: [WalletID: Timestamp]) {
        self.state.withLock { state in
            for (wallet, time) in sessions where state.leaving[wallet] == time { state.leaving[wallet] = nil }
        }
    }

    /// Puts back what the store did not take.
    func putBack(_ sessions: [WalletID: Timestamp]) {
        for (wallet, time) in sessions { self.note(wallet, at: time) }
        self.told(sessions)
    }
}
