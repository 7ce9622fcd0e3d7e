internal import Dispatch
internal import Foundation
package import PostgreSQLClient
package import WalletStore

/// The machine that a store runs on: its connections, its threads and the time that passes; a simulator replaces it.
package struct StoreMachine: Sendable {
    /// Connects to the database, at most this long.
    package var connect: @Sendable (PostgreSQLTarget, Duration) throws(PostgreSQLFailure) -> any DatabaseConnection = {
        (target, limit) throws(PostgreSQLFailure) in
        try PostgreSQLConnection(to: target, within: limit)
    }
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Blocks the calling thread.
    package var sleep: @Sendable (Duration) -> Void = { Thread.sleep(forTimeInterval: $0 / .seconds(1)) }
    package var startThread: @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Void = {
        let thread = Thread(block: $1)
        thread.name = $0
        thread.start()
    }
    package var makeSemaphore: @Sendable () -> any StoreWake = { DispatchSemaphore(value: 0) }
    /// Returns nil if the process has no free file descriptors.
    package var makePipe: @Sendable () -> WakePipe? = { WakePipe() }

    package init() {}
}
