internal import Synchronization

/// Whether this server is ready for wallets, as reported by `/readyz`.
///
///     starting ──begin──▶ ready
///     ready ──pause──▶ waiting ──resume──▶ ready
///     starting, ready, waiting ──drop──▶ stopping
///
/// A server that is stopping never becomes ready again, whatever the order of the calls.
package final class Readiness: Sendable {
    /// The phase of the server.
    package enum State: UInt8, Sendable, CaseIterable {
        /// The server is recovering its store or does not listen yet.
        case starting
        case ready
        /// The database takes no step: other servers may be able to serve.
        case waiting
        /// The server is shutting down: it answers calls, but new wallets should connect elsewhere.
        case stopping
    }

    private let value = Atomic<UInt8>(State.starting.rawValue)

    package init() {}

    package var state: State { State(rawValue: self.value.load(ordering: .acquiring)) ?? .stopping }

    package var isReady: Bool { self.state == .ready }

    /// Marks the server ready, after recovery and once wallets can connect.
    package func begin() { self.change(.starting, to: .ready) }

    /// Marks a ready server as one that waits for its database.
    package func pause() { self.change(.ready, to: .waiting) }

    /// Marks a waiting server ready again.
    package func resume() { self.change(.waiting, to: .ready) }

    private func change(_ old: State, to new: State) {
        _ = self.value.compareExchange(
            expected: old.rawValue,
            desired: new.rawValue,
            ordering: .acquiringAndReleasing
        )
    }

    /// Marks the server as stopping; called before any other step of the shutdown.
    package func drop() { self.value.store(State.stopping.rawValue, ordering: .releasing) }
}
