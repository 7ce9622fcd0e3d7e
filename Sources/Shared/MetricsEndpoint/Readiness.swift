internal import Synchronization

/// Whether this server is ready for wallets, as reported by `/readyz`.
///
///     starting ──begin──▶ ready
///     ready ──pause──▶ waiting ──resume──▶ ready
///     starting, ready, waiting ──drop──▶ stopping
///
/// Once a server is stopping, it never becomes ready again, no matter in which order the methods are called.
package final class Readiness: Sendable {
    /// The state of the server.
    package enum State: UInt8, Sendable, CaseIterable {
        /// The server is recovering its store or is not listening yet.
        case starting
        case ready
        /// The database is not responding.
        ///
        /// Other servers may be able to serve wallets.
        case waiting
        /// The server is shutting down.
        ///
        /// It still answers calls, but new wallets should connect elsewhere.
        case stopping
    }

    private let value = Atomic<UInt8>(State.starting.rawValue)

    package init() {}

    package var state: State { State(rawValue: self.value.load(ordering: .acquiring)) ?? .stopping }

    package var isReady: Bool { self.state == .ready }

    /// Marks the server as ready, once recovery is complete and wallets can connect.
    package func begin() { self.change(.starting, to: .ready) }

    /// Marks a ready server as waiting for its database.
    package func pause() { self.change(.ready, to: .waiting) }

    /// Marks a waiting server as ready again.
    package func resume() { self.change(.waiting, to: .ready) }

    private func change(_ old: State, to new: State) {
        _ = self.value.compareExchange(
            expected: old.rawValue,
            desired: new.rawValue,
            ordering: .acquiringAndReleasing
        )
    }

    /// Marks the server as stopping.
    ///
    /// Called before any other step of the shutdown.
    package func drop() { self.value.store(State.stopping.rawValue, ordering: .releasing) }
}
