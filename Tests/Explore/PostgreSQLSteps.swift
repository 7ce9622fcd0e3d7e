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
        var values = self.values(in: contents)
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
            let judged = try values.wallet.judge(attempt, self.storeFacts)
            let effect = judged.judgment?.apply(attempt.effect, to: &values.wallet.row) { _ in false }
            return (.judged(effect ?? judged.outcome), self.rows(values), true)
        case .report:
            return (.report(values.wallet.row.state.revocation), contents, false)
        case .revoke(_, let now):
            if values.wallet.row.state.revocation == nil { values.revoke(.byDeletionCode, at: now) }
            return (.revoked(.revoked(values.id, at: values.wallet.row.state.revokedAt)), self.rows(values), true)
        case .revokeWallet(let now):
            let isFirst = values.wallet.row.state.revocation == nil
            if isFirst { values.revoke(Revocation(reason: .wallet, mayRegisterAnew: true), at: now) }
            return (.walletsRevoked(.revoked(now: isFirst ? 1 : 0, before: isFirst ? 0 : 1)), self.rows(values), true)
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

extension Reply {
    fileprivate init<Outcome>(_ result: Result<Outcome, StoreError>, _ reply: (Outcome) -> Reply) {
        switch result {
        case .success(let outcome): self = reply(outcome)
        case .failure(let error): self = .failed(error)
        }
    }
}
