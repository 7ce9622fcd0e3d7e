internal import PostgreSQLClient
internal import PostgreSQLStore
internal import RemotePINServer

/// A connection to the simulated database: what `PostgreSQLConnection` is to PostgreSQL.
///
/// The meaning of an answer that is late, lost or comes with a warning is repeated here from `PostgreSQLConnection`.
final class SimulatedConnection: DatabaseConnection {
    private let database: SimulatedDatabase
    private let pipe: SimulatedPipe
    private var backend: Backend?

    init(
        to database: SimulatedDatabase,
        from process: SimulatedProcess,
        _ server: Int,
        _ pipe: SimulatedPipe,
        within limit: Duration
    ) throws(PostgreSQLFailure) {
        self.database = database
        self.pipe = pipe
        if let block = database.connectBlock(of: server) { SimulatedThread.pause { $0.end(after: block) } }
        let answer: Backend?? = SimulatedThread.wait(atMost: limit.microseconds) { answer in
            database.accept(process, server, answer)
        }
        guard let answer else { throw .disconnected("the database did not answer in time") }
        guard let accepted = answer else { throw .disconnected("the database refuses the connection") }
        self.backend = accepted
    }

    deinit { self.close() }

    var isOpen: Bool { self.backend != nil }

    func close() {
        guard let backend = self.backend.take() else { return }
        self.database.clientCloses(backend)
    }

    func run(
        _ statement: StoreStatement,
        commits: Bool,
        within limit: Duration
    ) throws(PostgreSQLFailure) -> PostgreSQLRows {
        guard let backend = self.backend else { throw .disconnected("the connection is closed") }
        let answer: DatabaseAnswer? = SimulatedThread.wait(atMost: limit.microseconds) { answer in
            self.database.receive(statement, on: backend, answer)
        }
        switch answer {
        case .rows(let rows, isWarned: false)?: return PostgreSQLRows(rows)
        case .rows(let rows, isWarned: true)?:
            guard commits else { return PostgreSQLRows(rows) }
            self.close()
            throw .outcomeUnknown("the database warned")
        case .rejected(let state)?: throw .rejected(state: state, message: "rejected")
        case .lost?, nil:
            self.close()
            let reason = answer == nil ? "the database did not answer in time" : "the connection is lost"
            throw commits ? .outcomeUnknown(reason) : .disconnected(reason)
        }
    }

    func notifications(
        orWoken pipe: WakePipe,
        until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLFailure) -> Set<String> {
        guard let backend = self.backend else { throw .disconnected("the connection is closed") }
        let left = (deadline - self.database.run.time.now()).microseconds
        if left > 0, backend.notified.isEmpty, !backend.isLost, !self.pipe.isWoken {
            let _: Void? = SimulatedThread.wait(atMost: left) { answer in
                self.pipe.onWake = { answer(()) }
                backend.onNews = { answer(()) }
            }
            (self.pipe.onWake, backend.onNews) = (nil, nil)
        }
        self.pipe.isWoken = false
        guard !backend.isLost else {
            self.close()
            throw .disconnected("the connection is lost")
        }
        return backend.takeNotified()
    }
}
