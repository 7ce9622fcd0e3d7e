import Foundation
@testable import SQLiteClient
import HostSystem
import PINPolicy
import CSQLite
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("One transaction for many steps")
struct BatchWriterTests {
    @Test("a step that throws is refused alone and leaves no changes; the other steps run once")
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
            return try writer.connection.db.run("SELECT hex(mac) FROM denied_recovery_codes").map { try $0.text(0) }
        }
        #expect(answers.all == ["a done", "b corrupt", "c done"])
        #expect(denied == ["01", "03"])
    }

    @Test("a full disk fails every step of the batch and undoes all of them", arguments: [0, 1, 2])
    func diskFull(place: Int) throws {
        let answers = Answers()
        let denied = try Self.withWriter { writer in
            writer.run(
                (0..<3).map { index in
                    answers.step("\(index)") {
                        try $0.deny("0\(index)")
                        if index == place { throw SQLiteFailure.full }
                    }
                }
            )
            return try writer.connection.db.run("SELECT hex(mac) FROM denied_recovery_codes").map { try $0.text(0) }
        }
        #expect(answers.all == ["0 unavailable", "1 unavailable", "2 unavailable"])
        #expect(denied == [])
    }

    @Test("a store that cannot be read is reported as damaged, not as busy")
    func unreadable() throws {
        let answers = Answers()
        try Self.withWriter { writer in
            // No step fails, but the commit does, as on a damaged page.
            try writer.connection.db.execute(
                "CREATE TRIGGER damage BEFORE UPDATE ON generation BEGIN SELECT RAISE(ABORT, 'damaged'); END"
            )
            writer.run([answers.step("a") { try $0.deny("01") }])
        }
        #expect(answers.all == ["a corrupt"])
    }

    @Test(
        "a revocation of the solution that is undone, with its batch or alone, has no effect afterwards",
        arguments: [SQLiteFailure.full as any Error & Sendable, StoreError.corrupt]
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
            let read = Answers().step("") { connection in found.withLock { $0 = connection.facts.isSolutionRevoked } }
            writer.run([read])
            return found.withLock(\.self)
        }
        #expect(!isRevoked)
    }

    @Test("no answer is given before the commit")
    func answersWait() throws {
        let trace = Trace()
        try Self.withWriter { writer in
            writer.connection.db.trace(atEnd: true) { if $0 == "COMMIT" { trace.add("commit") } }
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

    @Test("a wrong PIN before a right one in the same batch stays counted in later batches")
    func countedAfterARightOne() async throws {
        let failures = try await Self.withWallet { writer, wallet in
            let attempts = try [true, false, true, false, false].map { try wallet.attempt(right: $0) }
            writer.run(attempts.map { attempt in Answers().step("") { _ = try $0.outcome(of: attempt) } })
            for _ in 0..<3 { writer.run([Answers().step("") { _ = $0.facts.isSolutionRevoked }]) }
            return try writer.failures(of: wallet.id)
        }
        #expect(failures == 2)
    }

    @Test("after a failed sync or any other file error the process ends without answering a caller")
    func fatal() async {
        await #expect(processExitsWith: .exitCode(71)) {
            try BatchWriterTests.withWriter { writer in
                let step = CommitQueue.PendingStep(
                    run: { throw $0.db.failure(SQLITE_IOERR | 4 << 8) },
                    refuse: { _ in exit(1) }
                )
                writer.run([step])
            }
        }
    }

    @Test(
        "without the space to write the mark the process ends for a full disk, after which it may start by itself",
        .enabled(if: SmallDisk.isPermitted, "mounting a small file system needs root")
    )
    func markWithoutSpace() async throws {
        let disk = try SmallDisk()
        try StoreMark.create(of: disk.path + "/wallets.db")
        disk.fill()
        await #expect(processExitsWith: .exitCode(72)) { [folder = disk.path as String] in
            let path = folder + "/wallets.db"
            let mark = try StoreMark(of: path, page: 1, generation: 1)
            // The next write of the mark needs a new page, as on copy-on-write storage.
            try FileHandle(forWritingTo: URL(filePath: StoreMark.path(of: path))).truncate(atOffset: 0)
            try DurableFile.append(Array(repeating: 0, count: 4096), to: folder + "/ballast")
            let db = try SQLiteDatabase()
            try Schema.current.migrate(db, creating: true)
            var writer = BatchWriter(
                connection: try StoreConnection(db, key: .test),
                onFatal: { exit($0.isDiskFull ? 72 : 71) }
            )
            writer.mark = mark
            writer.run([Answers().step("a") { try $0.deny("01") }])
        }
        withExtendedLifetime(disk) {}
    }

    @Test(
        "the log is copied into the database at 200 pages under a light load and at 1,000 under a heavy one",
        arguments: [(stepCount: 1, mostPages: 200), (stepCount: 4, mostPages: 200), (stepCount: 5, mostPages: 1000)]
    )
    func logCopied(stepCount: Int, mostPages: Int) async throws {
        let counts = try await Self.withWallet { writer, _ in
            var writer = writer
            let log = LogPages(of: writer.connection.db)
            writer.log = log
            var counts: [Int] = []
            for batch in 0..<1000 {
                writer.run(
                    (0..<stepCount).map { step in
                        Answers().step("a") { try $0.deny(String(100_000 + batch * 8 + step)) }
                    }
                )
                counts.append(log.count)
            }
            return counts
        }
        let longest = try #require(counts.max())
        #expect(longest < mostPages && longest > mostPages - 50)
        #expect(counts.count { $0 == 0 } > 1)
        // After each copy the log starts over, which it does only if all its pages were copied.
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 != 0 || 0 < $1 && $1 < 50 })
    }

    @Test("the reason of a refusal reaches the log: SQLite's code by name, the file, and not the wallet")
    func refusalReason() async throws {
        let reasons = Mutex<[String]>([])
        let answers = Answers()
        try await Self.withWallet { writer, _ in
            var writer = writer
            writer.onRefusal = { reason in reasons.withLock { $0.append(reason) } }
            for code in [SQLITE_FULL, SQLITE_CORRUPT] {
                writer.run([answers.step("\(code)") { throw $0.db.failure(code) }])
            }
        }
        #expect(answers.all == ["11 corrupt", "13 unavailable"])
        let logged = reasons.withLock(\.self)
        #expect(logged.count == 2)
        #expect(
            logged.first?.hasPrefix("SQLITE_FULL (13)") == true && logged.last?.hasPrefix("SQLITE_CORRUPT (11)") == true
        )
        #expect(logged.allSatisfy { $0.hasSuffix("/wallets.db") }, "\(logged)")
    }

    @Test("a batch that a damaged file prevents is reported as damage, and a full disk as unavailable")
    func damagedFile() throws {
        let answers = Answers()
        try Self.withWriter { writer in
            // The commit of both attempts fails, with and without savepoints.
            unsafe sqlite3_commit_hook(writer.connection.db.handle, { _ in 1 }, nil)
            writer.run([answers.step("a") { try $0.deny("01") }])
        }
        #expect(answers.all == ["a corrupt"])
    }

    @Test("extended codes have the names of sqlite3.h")
    func codeNames() {
        for (code, name) in [
            (778, "SQLITE_IOERR_WRITE (778)"), (1034, "SQLITE_IOERR_FSYNC (1034)"), (3850, "SQLITE_IOERR_LOCK (3850)"),
            (266, "SQLITE_IOERR_READ (266)"), (13, "SQLITE_FULL (13)"), (11, "SQLITE_CORRUPT (11)"),
            (779, "SQLITE_CORRUPT_INDEX (779)"), (1032, "SQLITE_READONLY_DBMOVED (1032)"),
            (1555, "SQLITE_CONSTRAINT (1555)"), (8714, "SQLITE_IOERR_IN_PAGE (8714)"), (99, "SQLITE_99"),
        ] {
            #expect(SQLiteFailure.name(of: Int32(code)) == name)
        }
    }

    @Test("a count that is undone with its batch is forgotten")
    func countUndone() async throws {
        let failures = try await Self.withWallet { writer, wallet in
            let attempts = try (0..<3).map { _ in try wallet.attempt(right: false) }
            for attempt in attempts {
                writer.run([
                    Answers().step("") {
                        _ = try $0.outcome(of: attempt)
                        throw SQLiteFailure.full
                    }
                ])
                writer.run([Answers().step("") { _ = try $0.outcome(of: attempt) }])
            }
            return try writer.failures(of: wallet.id)
        }
        #expect(failures == 3)
    }

    @Test("an attempt is added to the count on file, not to the cached one")
    func countedOnFile() async throws {
        let answers = Answers()
        let failures = try await Self.withWallet { writer, wallet in
            let attempts = try (0..<2).map { _ in try wallet.attempt(right: false) }
            writer.run([answers.step("a") { _ = try $0.outcome(of: attempts[0]) }])
            // Bypasses the store, as its own code never does.
            var found = try #require(try writer.connection.attempted(wallet.id))
            for _ in 0..<2 {
                _ = found.wallet.attempts?.record.charge(.random(), policy: .standard, now: TestWallet.start)
            }
            let kept = try #require(found.wallet.attempts).encoded(of: wallet.id, by: .test)
            try writer.connection.db.run("UPDATE attempts SET record = ?", [.bytes(kept)])
            writer.run([answers.step("b") { _ = try $0.outcome(of: attempts[1]) }])
            return try writer.failures(of: wallet.id)
        }
        #expect(answers.all == ["a done", "b done"])
        #expect(failures == 4)
    }

    @Test("a wallet's row is read again after any statement changed it")
    func changedRow() async throws {
        let share: Sealed = TestWallet.bytes(80)
        let outcome = Mutex<AttemptOutcome?>(nil)
        let answers = Answers()
        try await Self.withWallet { writer, wallet in
            let attempts = try (0..<3).map { _ in try wallet.attempt(right: true) }
            writer.run([answers.step("a") { _ = try $0.outcome(of: attempts[0]) }])
            try writer.connection.db.run("UPDATE wallets SET unlock_share = ?", [.bytes(share)])
            writer.run([
                answers.step("b") { connection in
                    let found = try connection.outcome(of: attempts[1])
                    outcome.withLock { $0 = found }
                }
            ])
            try writer.connection.db.execute("DELETE FROM wallets")
            writer.run([answers.step("c") { _ = try $0.outcome(of: attempts[2]) }])
        }
        #expect(answers.all == ["a done", "b done", "c corrupt"])
        #expect(outcome.withLock(\.self) == .valid(.unlockShare(share, next: nil)))
    }

    /// A writer on the file of a closed store that contains one wallet.
    static func withWallet<Value>(_ body: (BatchWriter, TestWallet) throws -> Value) async throws -> Value {
        let folder = TemporaryFolder()
        let store = try folder.store()
        let wallet = try await TestWallet(in: store)
        await store.close()
        let db = try SQLiteDatabase(folder.path + "/wallets.db")
        return try body(BatchWriter(connection: StoreConnection(db, key: .test), onFatal: { _ in exit(71) }), wallet)
    }

    static func withWriter<Value>(_ body: (BatchWriter) throws -> Value) throws -> Value {
        let db = try SQLiteDatabase()
        try Schema.current.migrate(db, creating: true)
        return try body(BatchWriter(connection: StoreConnection(db, key: .test), onFatal: { _ in exit(71) }))
    }
}

extension BatchWriter {
    /// The number of a wallet's wrong PINs since its last right one, from the file.
    fileprivate func failures(of wallet: WalletID) throws -> Int? {
        self.connection.known.forgetAll()
        return try self.connection.attempted(wallet)?.wallet.attempts?.record.failures
    }
}

extension StoreConnection {
    fileprivate func outcome(of attempt: Attempt) throws -> AttemptOutcome { try self.step(attempt).outcome }
}

/// The answers to callers, in order.
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

/// The order of a commit and its answers.
private final class Trace: Sendable {
    private let events = Mutex<[String]>([])

    var all: [String] { self.events.withLock(\.self) }

    func add(_ event: String) {
        self.events.withLock { $0.append(event) }
    }
}

extension StoreConnection {
    fileprivate func deny(_ mac: String) throws {
        try self.db.execute("INSERT INTO denied_recovery_codes VALUES (x'\(mac)', 0)")
    }
}

extension SQLiteFailure {
    fileprivate static var full: SQLiteFailure { unsafe SQLiteFailure(SQLITE_FULL, of: nil) }
}

extension SQLiteDatabase {
    /// Calls `body` with the text of each statement when it starts, or when it ends.
    func trace(atEnd: Bool = false, _ body: @escaping (String) -> Void) {
        let events = UInt32(atEnd ? SQLITE_TRACE_PROFILE : SQLITE_TRACE_STMT)
        // Never released: the database of a test ends with it.
        let context = unsafe Unmanaged.passRetained(Tracer(body)).toOpaque()
        unsafe sqlite3_trace_v2(
            self.handle,
            events,
            { _, context, statement, _ in
                if let context = unsafe context, let text = unsafe sqlite3_sql(OpaquePointer(statement)) {
                    unsafe Unmanaged<Tracer>.fromOpaque(context).takeUnretainedValue().body(String(cString: text))
                }
                return 0
            },
            context
        )
    }

    private final class Tracer {
        let body: (String) -> Void

        init(_ body: @escaping (String) -> Void) { self.body = body }
    }
}
