internal import GRDB
internal import PINPolicy
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

/// The rows of a store with one wallet.
enum Contents: Hashable {
    /// The rows of SQLite's tables.
    case tables([[[DatabaseValue]]])
    /// The rows of PostgreSQL's tables, decoded.
    case shared(SharedWallet)
}

/// The facts about a wallet that the invariants are about.
struct Facts {
    var record: AttemptRecord
    var isRevoked: Bool
    var hasSecondPIN: Bool
    var hasShare: Bool
}

/// The steps of a production store, as functions from rows to rows.
protocol StoreSteps {
    /// The rows after the wallet's registration.
    func registered(_ registration: NewRegistration) throws -> Contents
    /// Carries out a step; returns the reply, the rows after it, and whether the reply waits for a commit.
    func run(_ operation: Operation, on contents: Contents) throws -> (reply: Reply, contents: Contents, commits: Bool)
    func facts(in contents: Contents) throws -> Facts
}
