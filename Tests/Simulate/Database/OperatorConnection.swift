internal import PostgreSQLClient
internal import PostgreSQLStore
internal import Synchronization

/// A connection of an operator's program, which runs outside the simulated time: each statement is carried out at once.
final class OperatorConnection: DatabaseConnection {
    /// Admits one thread of the program at a time.
    private static let turn = Mutex(())

    private let database: SimulatedDatabase
    private let backend: Backend
    private(set) var isOpen = true

    init(to database: SimulatedDatabase) {
        self.database = database
        self.backend = Backend(database.run.world, server: nil)
    }

    func close() { self.isOpen = false }

    func run(
        _ statement: StoreStatement,
        commits: Bool,
        within limit: Duration
    ) throws(PostgreSQLFailure) -> PostgreSQLRows {
        let answer = Self.turn.withLock { _ in self.database.carryOut(statement, on: self.backend) }
        guard case .rows(let rows, _) = answer else { throw .rejected(state: "XX000", message: "rejected") }
        return PostgreSQLRows(rows)
    }

    func notifications(
        orWoken pipe: WakePipe,
        until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLFailure) -> Set<String> { [] }
}

extension StoreMachine {
    /// The machine of an operator's program, outside the simulated time.
    static func ofOperator(_ database: SimulatedDatabase) -> StoreMachine {
        var machine = StoreMachine()
        machine.connect = { _, _ in OperatorConnection(to: database) }
        return machine
    }
}
