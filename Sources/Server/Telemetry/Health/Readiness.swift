internal import Synchronization

/// Whether wallets may be sent to this server; what `/readyz` says.
///
///     starting ──begin──▶ ready ──drop──▶ stopping
///         └────────────────drop───────────────▲
///
/// A server that stops never becomes ready again, whatever is said in which order.
package final class Readiness: Sendable {
    /// Where the server is between its start and its end.
    package enum State: UInt8, Sendable, CaseIterable {
        /// Not recovered yet, or not listening.
        case starting
        case ready
        /// Told to stop: calls are answered, new wallets should go elsewhere.
        case stopping
    }

    private let value = Atomic<UInt8>(State.starting.rawValue)

    package init() {}

    package var state: State { State(rawValue: self.value.load(ordering: .acquiring)) ?? .stopping }

    package var isReady: Bool { self.state == .ready }

    /// Recovery is done and wallets can connect.
    package func begin() {
        _ = self.value.compareExchange(
            expected: State.starting.rawValue,
            desired: State.ready.rawValue,
            ordering: .acquiringAndReleasing
        )
    }

    /// The server is about to stop; the first thing that it does.
    package func drop() { self.value.store(State.stopping.rawValue, ordering: .releasing) }
}
