internal import Synchronization
package import Vocabulary
package import WalletStore

/// A store in memory.
///
/// A step runs alone, on a copy of the contents that replaces them if the step does not throw.
package final class DictionaryStore: Sendable {
    /// The contents, which outlive the store as a file does.
    package final class Contents: Sendable {
        private let tables = Mutex(DictionaryTables())

        package init() {}

        package func withLock<Result>(_ body: (inout sending DictionaryTables) throws -> sending Result) rethrows
            -> sending Result
        { try self.tables.withLock(body) }
    }

    private let contents: Contents
    private let key: RecordKey
    private let announced = AnnouncedEntry()
    private let isClosed = Mutex(false)
    package let expectedSteps = ExpectedSteps()
    package let commitLatency = CommitLatency()
    package let limits = StepLimits(removedAtOnce: 8, searchedAtOnce: 50)
    package let sweepCursor = SweepCursor()

    package init(_ contents: Contents, by key: RecordKey) {
        (self.contents, self.key) = (contents, key)
    }

    /// Runs a step, and undoes it if it throws.
    private func run<Answer>(_ step: (DictionaryRows) throws -> Answer) throws(StoreError) -> Answer {
        guard !self.isClosed.withLock(\.self) else { throw .unavailable }
        do {
            return try self.contents.withLock { tables in
                let rows = try DictionaryRows(tables, by: self.key)
                let answer = try step(rows)
                tables = rows.tables
                if rows.isAudited, let mark = self.announced.mark { tables.auditMark = mark }
                return answer
            }
        } catch {
            throw error as? StoreError ?? .corrupt
        }
    }
}

extension DictionaryStore: ServedStore {
    package func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer {
        try self.run { try step.run(in: $0) }
    }

    package func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity? {
        try self.run { $0.identity(of: wallet) }
    }

    package func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome {
        try self.run { try $0.begin(session) }
    }

    package func judge(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome {
        CertifiedOutcome(try self.run { try $0.judge(attempt) })
    }

    package func isSolutionRevoked() async throws(StoreError) -> Bool { try self.run(\.facts.isSolutionRevoked) }
    package func announce(_ newest: StoredAuditMark) { self.announced.mark = newest }
    package func close() async { self.isClosed.withLock { $0 = true } }

    // It has no files, no receipts and no other servers.

    package var newestRoot: SignedRoot? { nil }
    package var isShared: Bool { false }
    package var generation: UInt64 { 0 }
    package func accountedGeneration(in epoch: Int) async throws(StoreError) -> UInt64 { 0 }
    package var waitingSteps: Int { 0 }
    package var lease: (any ServerLease)? { nil }
}
