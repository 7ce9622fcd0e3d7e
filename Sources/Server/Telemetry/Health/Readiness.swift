internal import Synchronization

/// The readiness of this server for wallets, as `/readyz` reports it.
///
///     starting ──begin──▶ ready ──drop──▶ stopping
///         └────────────────drop───────────────▲
///
/// A stopping server never becomes ready again, in whatever order the methods are called.
package final class Readiness: Sendable {
    /// The server's phase.
    package enum State: UInt8, Sendable, CaseIterable {
        /// The server is recovering its store or does not listen yet.
        case starting
        case ready
        /// The server is shutting down: it answers calls, but new wallets should connect elsewhere.
        case stopping
    }

    private let value = Atomic<UInt8>(State.starting.rawValue)

    package init() {}

    package var state: State { State(rawValue: self.value.load(ordering: .acquiring)) ?? .stopping }

    package var isReady: Bool { self.state == .ready }

    /// Marks the server ready, after recovery and once wallets can connect.
    package func begin() {
        _ = self.value.compareExchange(
            expected: State.starting.rawValue,
            desired: State.ready.rawValue,
            ordering: .acquiringAndReleasing
        )
    }

    /// Marks the server as stopping, before any other step of the shutdown.
    package func drop() { self.value.store(State.stopping.rawValue, ordering: .releasing) }
}
