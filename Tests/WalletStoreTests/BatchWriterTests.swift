import Foundation
import GRDB
import PINPolicy
import Synchronization
import TestSupport
import Testing

@testable import WalletStore

@Suite("One transaction for many steps")
struct BatchWriterTests {
    @Test("a step that throws is refused alone and leaves nothing behind; the others are done once")
    func isolation() throws {
        let answers = Answers()
        let denied = try Self.withWriter { writer in
            writer.run([
                answers.step("a") { try $0.deny("01") },
                answers.step("b") {
                    try $0.deny("02")
                    throw StoreError.corrupt
                },
                answers.step("c") { try $0.deny("03") },
            ])
            return try String.fetchAll(writer.connection.db, sql: "SELECT hex(mac) FROM denied_recovery_codes")
        }
        #expect(answers.all == ["a done", "b corrupt", "c done"])
        #expect(denied == ["01", "03"])
    }

    @Test("a full disk refuses every step of the batch alike and undoes all of them", arguments: [0, 1, 2])
    func diskFull(place: Int) throws {
        let answers = Answers()
        let denied = try Self.withWriter { writer in
            writer.run(
                (0..<3).map { index in
                    answers.step("\(index)") {
                        try $0.deny("0\(index)")
                        if index == place { throw DatabaseError(resultCode: .SQLITE_FULL) }
                    }
                }
            )
            return try String.fetchAll(writer.connection.db, sql: "SELECT hex(mac) FROM denied_recovery_codes")
        }
        #expect(answers.all == ["0 unavailable", "1 unavailable", "2 unavailable"])
        #expect(denied == [])
    }

    @Test(
        "a revocation of the solution that is undone, with its batch or alone, is not believed afterwards",
        arguments: [DatabaseError(resultCode: .SQLITE_FULL) as any Error & Sendable, StoreError.corrupt]
    )
    func solutionUndone(failure: any Error & Sendable) throws {
        let isRevoked = try Self.withWriter { writer in
            writer.run([
                Answers().step("") {
                    try $0.setSolutionRevoked(true)
                    throw failure
                }
            ])
            let found = Mutex(true)
            writer.run([Answers().step("") { connection in found.withLock { $0 = connection.isSolutionRevoked } }])
            return found.withLock(\.self)
        }
        #expect(!isRevoked)
    }

    @Test("no answer leaves before the commit")
    func answersWait() throws {
        let trace = Trace()
        try Self.withWriter { writer in
            // Told when a statement has ended, whoever ran it.
            writer.connection.db.trace(options: .profile) { event in
                if case .profile(let statement, _) = event, statement.sql == "COMMIT" { trace.add("commit") }
            }
            writer.run([
                CommitQueue.PendingStep(
                    run: { connection in
                        try connection.deny("01")
                        return { trace.add("answer") }
                    },
                    refuse: { _ in trace.add("refusal") }
                )
            ])
        }
        #expect(trace.all == ["commit", "answer"])
    }

    @Test("a wrong PIN in the same batch as a right one before it stays counted in the batches that follow")
    func countedAfterARightOne() async throws {
        let folder = TemporaryFolder()
        let store = try folder.store()
        let wallet = try await TestWallet(in: store)
        let attempts = try [true, false, true, false, false].map { try wallet.attempt(right: $0) }
        await store.close()
        let database = try DatabaseQueue(path: folder.path + "/wallets.db")
        let failures = try database.inDatabase { db in
            let writer = BatchWriter(connection: try StoreConnection(db), onFatal: { _ in exit(71) })
            writer.run(attempts.map { attempt in Answers().step("") { _ = try $0.judge(attempt) } })
            for _ in 0..<3 { writer.run([Answers().step("") { _ = $0.isSolutionRevoked }]) }
            return try writer.connection.attempted(wallet.id, identity: [])?.attempts.record.failures
        }
        #expect(failures == 2)
    }

    @Test("after a failed sync, or any other failure of the files, the process ends and nobody is answered")
    func fatal() async {
        await #expect(processExitsWith: .exitCode(71)) {
            try BatchWriterTests.withWriter { writer in
                let step = CommitQueue.PendingStep(
                    run: { _ in throw DatabaseError(resultCode: .SQLITE_IOERR_FSYNC) },
                    refuse: { _ in exit(1) }
                )
                writer.run([step])
            }
        }
    }

    static func withWriter<Value>(_ body: (BatchWriter) throws -> Value) throws -> Value {
        try DatabaseQueue().inDatabase { db in
            try Schema.migrate(db, creating: true)
            return try body(BatchWriter(connection: try StoreConnection(db), onFatal: { _ in exit(71) }))
        }
    }
}

/// What callers were told, in order.
private final class Answers: Sendable {
    private let told = Mutex<[String]>([])

    var all: [String] { self.told.withLock { $0.sorted() } }

    func step(
        _ name: String,
        _ work: @escaping @Sendable (StoreConnection) throws -> Void
    ) -> CommitQueue.PendingStep {
        CommitQueue.PendingStep(
            run: { connection in
                try work(connection)
                return { self.add("\(name) done") }
            },
            refuse: { self.add("\(name) \($0)") }
        )
    }

    private func add(_ line: String) {
        self.told.withLock { $0.append(line) }
    }
}

/// In which order a commit and its answers happened.
private final class Trace: Sendable {
    private let events = Mutex<[String]>([])

    var all: [String] { self.events.withLock(\.self) }

    func add(_ event: String) {
        self.events.withLock { $0.append(event) }
    }
}

extension StoreConnection {
    fileprivate func deny(_ mac: String) throws {
        try self.db.execute(sql: "INSERT INTO denied_recovery_codes VALUES (x'\(mac)', 0)")
    }
}
