internal import Synchronization

/// Whether this server is ready for wallets, as reported by `/readyz`.
///
///     starting ──begin──▶ ready ──drop──▶ stopping
///         └────────────────drop───────────────▲
///
/// A server that is stopping never becomes ready again, whatever the order of the calls.
package final class Readiness: Sendable {
    /// The phase of the server.
    package enum State: UInt8, Sendable, CaseIterable {
        /// The server is recovering its store or does not listen yet.
        case starting
        case ready
        /// The server is shutting down; it answers calls, but new wallets should connect elsewhere.
        case stopping
    }

    private let value = Atomic<UInt8>(State.starting.rawValue)

    package init() {}

    package var state: State { State(rawValue: self.value.load(ordering: .acquiring)) ?? .stopping }

    package var isReady: Bool { self.state == .ready }

    /// Marks the server as ready; called after recovery, once wallets can connect.
    package func begin() {
        _ = self.value.compareExchange(
            expected: State.starting.rawValue,
            desired: State.ready.rawValue,
            ordering: .acquiringAndReleasing
        )
    }

    /// Marks the server as stopping; called before any other step of the shutdown.
    package func drop() { self.value.store(State.stopping.rawValue, ordering: .releasing) }
}
