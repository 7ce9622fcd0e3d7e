internal import DictionaryStore
internal import EmbeddedServer
internal import PINPolicy
@testable import PostgreSQLStore
internal import Secrets
internal import Statements
internal import Vocabulary
internal import WalletStore

/// A step that the server asks of its store.
enum Operation: Sendable {
    case identity
    case beginSession(NewSession)
    case judge(Attempt)
    case report
    case revoke(RevokeByDeletionCode)
    /// A revocation by the operator's command.
    case revokeWallets(EndAllOrNone)
}

/// The store's reply to a step.
enum Reply: Hashable, Sendable {
    case identity(StoredIdentity?)
    case session(SessionOutcome)
    case judged(AttemptOutcome)
    case report(Revocation?)
    case revoked(CodeRevocationOutcome)
    case walletsRevoked(WalletsRevocationOutcome)
    case failed(StoreError)
}

/// The facts about a wallet that the invariants are about.
struct Facts {
    var record: AttemptRecord
    var isRevoked: Bool
    var hasSecondPIN: Bool
    var hasShare: Bool
}

/// The steps of the production store, as functions from the contents of a store with one wallet to other contents.
///
/// If servers share the store, `JudgingStep` decides whether a reply waits for a commit. The comparison of the row is
/// left out: a write that is decided from an outdated row fails, and is decided again from the present one. A change of
/// the PIN, a revocation and a report are transactions, which lock the wallet's row.
final class StoreSteps {
    /// The result of a step: the reply, the contents after it, and whether the reply waits for a commit.
    typealias Outcome = (reply: Reply, contents: DictionaryTables, commits: Bool)

    let isShared: Bool
    private let key = RecordKey(SecretBytes.random(count: 32))
    private let phone: Phone

    init(_ phone: Phone, isShared: Bool) {
        (self.phone, self.isShared) = (phone, isShared)
    }

    /// Returns the key of the PIN that is right.
    func rightKey(in facts: Facts) -> P256PublicKey {
        facts.hasSecondPIN ? self.phone.second.publicKey : self.phone.first.publicKey
    }

    /// Returns the contents after the wallet's registration.
    func registered(_ registration: NewRegistration) throws -> DictionaryTables {
        try self.change(DictionaryTables()) { _ = try registration.run(in: $0) }
    }

    func run(_ operation: Operation, on contents: DictionaryTables) throws -> Outcome {
        if self.isShared, let outcome = try self.decide(operation, on: contents) { return outcome }
        var reply = Reply.failed(.corrupt)
        do {
            let after = try self.change(contents) { rows in
                switch operation {
                case .identity: reply = .identity(rows.identity(of: self.phone.walletID))
                case .beginSession(let session): reply = .session(try rows.begin(session))
                case .judge(let attempt): reply = .judged(try rows.judge(attempt))
                case .report: reply = .report(try ReportOfWallet(self.phone.walletID).run(in: rows)?.revocation)
                case .revoke(let step): reply = .revoked(try step.run(in: rows))
                case .revokeWallets(let step): reply = .walletsRevoked(try step.run(in: rows))
                }
            }
            if case .report = reply { return (reply, after, false) }
            return (reply, after, true)
        } catch let error as StoreError {
            return (.failed(error), contents, true)
        }
    }

    /// Decides a step as the judging lane does; returns nil for a step that runs in a transaction.
    private func decide(_ operation: Operation, on contents: DictionaryTables) throws -> Outcome? {
        let reply = Box<Reply>(.failed(.corrupt))
        let kind: JudgingStep.Kind
        switch operation {
        case .identity: kind = .identity(self.phone.walletID) { reply.value = Reply($0, Reply.identity) }
        case .beginSession(let session): kind = .session(session) { reply.value = Reply($0, Reply.session) }
        case .judge(let attempt) where attempt.effect == .releaseShare:
            kind = .judge(attempt) { reply.value = Reply($0) { .judged($0.outcome) } }
        case .judge, .report, .revoke, .revokeWallets: return nil
        }
        let rows = try DictionaryRows(contents, by: self.key)
        let step = JudgingStep(kind: kind, began: .now)
        let decision = try step.decide(
            from: try self.values(in: contents),
            rows.facts,
            key: self.key,
            at: step.began
        )
        switch decision {
        case .answer(let answer):
            answer()
            return (reply.value, contents, false)
        case .write(let proposal):
            proposal.answer(nil)
            let after = try self.change(contents) { rows in
                guard var held = rows.hold(self.phone.walletID, with: .attempts) else { throw StoreError.corrupt }
                held.wallet = proposal.values.wallet
                try rows.keep(held, [.row, .attempts])
            }
            return (reply.value, after, true)
        }
    }

    /// Restores these contents as a backup: opens an epoch, then repeats the ends and blocks that are on record.
    func restore(
        _ contents: DictionaryTables,
        rule: EpochRule,
        at now: Timestamp,
        isEnded: Bool,
        isBlocked: Bool
    ) throws -> DictionaryTables {
        try self.change(contents) { rows in
            let number = rows.facts.charges.count + 2
            try OpenEpochs([StoredEpoch(number: number, rule: rule, openedAt: now, mac: [])]).run(in: rows)
            let wallets = [self.phone.walletID]
            if isEnded { _ = try EndWallets(wallets, as: .byDeletionCode, at: now).run(in: rows) }
            if isBlocked { _ = try BlockPermanently(wallets).run(in: rows) }
        }
    }

    func facts(in contents: DictionaryTables) throws -> Facts {
        let wallet = try self.values(in: contents).wallet
        guard let attempts = wallet.attempts else { throw StoreError.corrupt }
        return Facts(
            record: attempts.record,
            isRevoked: wallet.row.state.revocation != nil,
            hasSecondPIN: wallet.row.pinKeyID == self.phone.secondID,
            hasShare: wallet.row.unlockShare.contains { $0 != 0 }
        )
    }

    /// Returns the wallet as a server with PostgreSQL reads it.
    private func values(in contents: DictionaryTables) throws -> StoredValues {
        guard let wallet = contents.wallets[self.phone.walletID] else { throw StoreError.corrupt }
        var values = StoredValues(copying: wallet)
        values.wallet.attempts = KeptAttempts(decoding: wallet.attempts, of: wallet.id, by: self.key)
        return values
    }

    private func change(
        _ contents: DictionaryTables,
        _ step: (DictionaryRows) throws -> Void
    ) throws -> DictionaryTables {
        let rows = try DictionaryRows(contents, by: self.key)
        try step(rows)
        var after = rows.tables
        try self.resetCounters(in: &after)
        return after
    }

    /// Resets the number of writes of a row and the number of judged attempts, on which no decision depends, so that
    /// histories with the same future have the same rows.
    private func resetCounters(in contents: inout DictionaryTables) throws {
        for (id, var wallet) in contents.wallets {
            guard var attempts = KeptAttempts(decoding: wallet.attempts, of: id, by: self.key) else {
                throw StoreError.corrupt
            }
            attempts.number = 0
            wallet.attempts = attempts.encoded(of: id, by: self.key)
            wallet.row.state.writes = 0
            contents.wallets[id] = wallet
        }
    }
}

extension Reply {
    fileprivate init<Answer>(_ result: Result<Answer, StoreError>, _ reply: (Answer) -> Reply) {
        switch result {
        case .success(let answer): self = reply(answer)
        case .failure(let error): self = .failed(error)
        }
    }
}
