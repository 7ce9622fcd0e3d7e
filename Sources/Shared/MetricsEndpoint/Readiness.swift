internal import Synchronization

/// Whether this server is ready for wallets, as reported by `/readyz`.
///
///     starting ──begin──▶ ready
///     ready ──pause──▶ waiting ──resume──▶ ready
///     ready ──a local socket is missing──▶ unreachable ──it is made again──▶ ready
///     ready ──the vault's module does not answer──▶ vaultSilent ──it answers──▶ ready
///     starting, ready, waiting ──drop──▶ stopping
///
/// Once a server is stopping, it never becomes ready again, no matter in which order the methods are called.
package final class Readiness: Sendable {
    package enum State: UInt8, Sendable, CaseIterable {
        /// The server is recovering its store or is not listening yet.
        case starting
        case ready
        /// The database judges no attempts.
        ///
        /// Other servers may be able to serve wallets.
        case waiting
        /// The file of a local socket was removed, so that operators or the portal cannot connect.
        case unreachable
        /// The module with the vault's keys does not answer, so no session can be opened.
        case vaultSilent
        /// The server is shutting down.
        ///
        /// It still answers calls, but new wallets should connect elsewhere.
        case stopping
    }

    private let value = Atomic<UInt8>(State.starting.rawValue)
    private let newest = Mutex("no reason is known")
    private let obstacle = Mutex<@Sendable () -> State?>({ nil })

    package init() {}

    package var state: State {
        let state = State(rawValue: self.value.load(ordering: .acquiring)) ?? .stopping
        guard state == .ready else { return state }
        return self.obstacle.withLock(\.self)() ?? .ready
    }

    /// Makes the server ready only while nothing that it needs is missing.
    ///
    /// - Parameter obstacle: Returns the state of a server that is not ready, or nil if it is.
    package func require(_ obstacle: @escaping @Sendable () -> State?) {
        self.obstacle.withLock { $0 = obstacle }
    }

    package var isReady: Bool { self.state == .ready }

    /// Marks the server as ready, once recovery is complete and wallets can connect.
    package func begin() { _ = self.change(.starting, to: .ready) }

    /// The newest reason for which the database refused something; for operators, while the server waits.
    package var reason: String { self.newest.withLock { $0 } }

    package func note(_ reason: String) { self.newest.withLock { $0 = reason } }

    /// Marks a ready server as waiting for its database; returns false if it was not ready.
    package func pause() -> Bool { self.change(.ready, to: .waiting) }

    /// Marks a waiting server as ready again.
    package func resume() { _ = self.change(.waiting, to: .ready) }

    private func change(_ old: State, to new: State) -> Bool {
        self.value.compareExchange(
            expected: old.rawValue,
            desired: new.rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Marks the server as stopping; called before any other step of the shutdown.
    package func drop() { self.value.store(State.stopping.rawValue, ordering: .releasing) }
}
