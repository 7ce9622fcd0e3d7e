internal import EmbeddedServer
internal import PINPolicy
@testable import PostgreSQLStore
internal import Secrets
internal import Vocabulary
internal import WalletStore

/// A wallet's rows in a database that servers share, with the numbers of writes and of judged attempts reset: no
/// decision depends on them, and histories with the same future have the same rows.
struct SharedWallet: Hashable {
    let values: StoredValues

    init(_ values: StoredValues, by key: RecordKey) {
        var values = values
        values.wallet.row.state.writes = 0
        values.wallet.attempts?.number = 0
        values.version = 1
        self.values = values.written(values.narrow(by: key))
    }

    private var columns: [[UInt8]] {
        let row = self.values.wallet.row
        return [self.values.onFile, row.pinKeyID.bytes, row.identity, row.unlockShare]
    }

    static func == (left: Self, right: Self) -> Bool { left.columns == right.columns }

    func hash(into hasher: inout Hasher) { hasher.combine(self.columns) }
}

/// The decisions of the PostgreSQL store, whose database the explorer replaces.
///
/// `JudgingStep` decides whether a reply waits for a commit. The comparison of the row is left out: a write that is
/// decided from an outdated row fails, and is decided again from the present one. A change of the PIN, a revocation and
/// a report are transactions, which lock the wallet's row.
final class PostgreSQLSteps: StoreSteps {
    private let key = RecordKey(SecretBytes.random(count: 32))
    private let phone: Phone
    private let storeFacts = StoreFacts()

    init(_ phone: Phone) {
        self.phone = phone
    }

    func registered(_ registration: NewRegistration) -> Contents {
        self.rows(StoredValues(registering: registration, epoch: 1))
    }

    func run(_ operation: Operation, on contents: Contents) throws -> (reply: Reply, contents: Contents, commits: Bool)
    {
        let values = self.values(in: contents)
        let reply = Box<Reply>(.failed(.corrupt))
        switch operation {
        case .identity:
            return try self.decide(
                .identity(self.phone.walletID) { reply.value = Reply($0, Reply.identity) },
                reply,
                contents
            )
        case .beginSession(let session):
            return try self.decide(.session(session) { reply.value = Reply($0, Reply.session) }, reply, contents)
        case .judge(let attempt) where attempt.effect == .releaseShare:
            let kind = JudgingStep.Kind.judge(attempt) { reply.value = Reply($0) { .judged($0.outcome) } }
            return try self.decide(kind, reply, contents)
        case .judge(let attempt):
            let rows = OneWallet(values, self.storeFacts, self.key)
            return (.judged(try WritingAttempt(attempt).run(in: rows).outcome), self.rows(rows.values), true)
        case .report:
            return (.report(values.wallet.row.state.revocation), contents, false)
        case .revoke(let step):
            let rows = OneWallet(values, self.storeFacts, self.key)
            return (.revoked(try step.run(in: rows)), self.rows(rows.values), true)
        case .revokeWallets(let step):
            let rows = OneWallet(values, self.storeFacts, self.key)
            return (.walletsRevoked(try step.run(in: rows)), self.rows(rows.values), true)
        }
    }

    private func decide(
        _ kind: JudgingStep.Kind,
        _ reply: Box<Reply>,
        _ contents: Contents
    ) throws -> (reply: Reply, contents: Contents, commits: Bool) {
        let step = JudgingStep(kind: kind, began: .now)
        let decision = try step.decide(
            from: self.values(in: contents),
            self.storeFacts,
            key: self.key,
            at: step.began
        )
        switch decision {
        case .answer(let answer):
            answer()
            return (reply.value, contents, false)
        case .write(let proposal):
            proposal.answer(nil)
            return (reply.value, self.rows(proposal.values), true)
        }
    }

    func facts(in contents: Contents) throws -> Facts {
        let values = self.values(in: contents)
        guard let attempts = values.wallet.attempts else { throw StoreError.corrupt }
        return Facts(
            record: attempts.record,
            isRevoked: values.wallet.row.state.revocation != nil,
            hasSecondPIN: values.wallet.row.pinKeyID == self.phone.secondID,
            hasShare: values.wallet.row.unlockShare.contains { $0 != 0 }
        )
    }

    private func values(in contents: Contents) -> StoredValues {
        guard case .shared(let wallet) = contents else { preconditionFailure("the rows are PostgreSQL's") }
        return wallet.values
    }

    private func rows(_ values: StoredValues) -> Contents { .shared(SharedWallet(values, by: self.key)) }
}

/// The rows of a transaction on a database with one wallet, for the steps that the explorer plays.
private final class OneWallet: Rows {
    private(set) var values: StoredValues
    let facts: StoreFacts
    let key: RecordKey

    init(_ values: StoredValues, _ facts: StoreFacts, _ key: RecordKey) {
        (self.values, self.facts, self.key) = (values, facts, key)
    }

    /// No statement returns a row here.
    struct Columns: StoredColumns {
        func numberIfAny(_ column: Int) -> Int64? { nil }
        func textIfAny(_ column: Int) -> String? { nil }
        func bytesIfAny(_ column: Int) -> [UInt8]? { nil }
    }

    func hold(_ wallet: WalletID, with parts: WalletParts) -> StoredValues? {
        wallet == self.values.id ? self.values : nil
    }
    func keep(_ held: StoredValues, _ parts: WalletParts) { self.values = held }
    func wallet(ofDeletionCode digest: SHA256Digest) -> WalletID? { self.values.id }

    func find(_ selection: WalletSelection) -> WalletPage<FoundWallet> { WalletPage(wallets: [], next: nil) }
    func records(_ selection: WalletSelection) -> WalletPage<WalletRecord> { WalletPage(wallets: [], next: nil) }
    func search(for mac: RecoveryCodeMAC, after cursor: UInt64?, limit: Int) -> WalletPage<FoundWallet> {
        WalletPage(wallets: [], next: nil)
    }
    func walletCount() -> Int { 1 }
    func unconfirmedShares() -> Int { 0 }
    func recordKeyCheck() -> [UInt8]? { nil }
    func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) {}
    func auditMark() -> StoredAuditMark? { nil }
    func firstAndLastPlace() -> (first: Int64, last: Int64)? { nil }
    func requireEveryPlace(after cursor: UInt64?, limit: Int) {}
    func epochsWereOpened(_ count: Int) {}
    func insert(_ registration: NewRegistration) {}
    func remove(_ wallets: [StoredValues]) {}
    func keepPurgedCode(of held: StoredValues) {}
    func keepEnd(of held: StoredValues, at now: Timestamp) {}
    func noteRecorded(blocksOf wallets: [WalletID]) {}
    func lock(recoveryCode mac: [UInt8]) {}
    func setSolutionRevoked(_ isRevoked: Bool) {}
    func note(reversal name: String) {}
    func operatorRevision() -> Int64? { nil }
    func raiseOperatorRevision() {}
    func requireKeyAtServers(_ version: UInt32, check: [UInt8]) {}
    func vaultVersionsHaveChanged() {}
    func query(_ statement: SideStatement, _ values: [ColumnValue]) -> [Columns] { [] }
    func noteDestroyed() {}
    func noteDestroyedBefore() {}
    func noteAudited() {}
}

extension Reply {
    fileprivate init<Outcome>(_ result: Result<Outcome, StoreError>, _ reply: (Outcome) -> Reply) {
        switch result {
        case .success(let outcome): self = reply(outcome)
        case .failure(let error): self = .failed(error)
        }
    }
}
