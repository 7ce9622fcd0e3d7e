internal import PostgreSQLClient
internal import PostgreSQLStore
internal import RemotePINServer
internal import WalletStore

extension StoreMachine {
    /// The machine of a server with a PostgreSQL store.
    ///
    /// - Parameter database: Returns the database that the store's address leads to at present.
    static func simulated(
        _ process: SimulatedProcess,
        server: Int,
        in run: Simulation,
        _ database: @escaping @Sendable () -> SimulatedDatabase
    ) -> StoreMachine {
        let pipe = SimulatedPipe()
        var machine = StoreMachine()
        machine.connect = { _, limit throws(PostgreSQLFailure) in
            try SimulatedConnection(to: database(), from: process, server, pipe, within: limit)
        }
        machine.now = run.time.now
        machine.sleep = { time in SimulatedThread.pause { $0.end(after: time.microseconds) } }
        machine.startThread = { _, body in run.scheduler.keep(SimulatedThread(in: process, body)) }
        machine.makeSemaphore = { SimulatedSemaphore() }
        machine.makePipe = { WakePipe(onWake: { pipe.wake() }) }
        return machine
    }
}

/// The signal that wakes a thread of a PostgreSQL store.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class SimulatedSemaphore: StoreWake, @unchecked Sendable {
    private var count = 0
    private var waiting: SimulatedThread.Pause?

    func signal() -> Int {
        if let pause = self.waiting.take() { pause.end() } else { self.count += 1 }
        return 0
    }

    func wait() {
        if self.count > 0 {
            self.count -= 1
        } else {
            SimulatedThread.pause { self.waiting = $0 }
        }
    }

    func wait(atMost limit: Duration) { preconditionFailure("no thread of a PostgreSQL store waits so") }
}

/// The pipe that wakes the thread of a lease.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class SimulatedPipe: @unchecked Sendable {
    var isWoken = false
    var onWake: (() -> Void)?

    func wake() {
        self.isWoken = true
        self.onWake?()
    }
}

extension Duration {
    var microseconds: Int64 { Int64(self / .microseconds(1)) }
}
