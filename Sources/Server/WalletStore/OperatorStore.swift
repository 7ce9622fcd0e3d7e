internal import Foundation
package import PINPolicy
package import Vocabulary

/// The store operations used by operators.
///
/// As in ``WalletStore``, every operation is a single atomic step that evaluates its own conditions. If several servers
/// share a store, they learn about each other's changes from ``operatorValues()``.
package protocol OperatorStore: StepStore {
    /// Adds a recovery code to the deny list, ends the wallets linked to it and destroys their shares.
    ///
    /// Both changes are made in a single step that is ordered with respect to every link. A wallet linked later
    /// therefore ends in the step that links it.
    func revoke(recoveryCode mac: RecoveryCodeMAC, at now: Timestamp) async throws(StoreError)
        -> RecoveryCodeRevocationOutcome

    /// Returns the wallets linked to a recovery code, including ended ones.
    func wallets(linkedTo mac: RecoveryCodeMAC) async throws(StoreError) -> [WalletID]

    /// The commit durations since the start.
    var commitLatency: CommitLatency { get }

    /// Stores the time of each wallet's last session.
    ///
    /// Ignores wallets that no longer exist.
    func keepLastSessions(_ sessions: [WalletID: Timestamp]) async throws(StoreError)
}

/// A wallet as operators see it.
package struct WalletReport: Sendable {
    package var identity: Sealed
    package var registeredAt: Timestamp
    package var sessionOpened: Bool
    package var lastSession: Timestamp?
    /// The wallet's revocation, or nil while it is in use.
    package var revocation: Revocation?
    /// The time of the revocation.
    ///
    /// Only meaningful if the wallet is revoked.
    package var revokedAt: Timestamp
    package var isSolutionRevoked: Bool
    package var isLinkedToRecoveryCode: Bool
    /// Whether a deletion code was issued at registration.
    ///
    /// The code of a revoked wallet is overwritten.
    package var hasDeletionCode: Bool
    package var assertionCounter: UInt32?
    /// The stored record, or nil if it is damaged.
    ///
    /// Use ``attempts(under:)`` for the effective record.
    package var attempts: AttemptRecord?
    /// The restore charges that the stored record does not include yet.
    package var epochCharges: ArraySlice<EpochCharge>
    /// The attested facts as a JSON object.
    package var attested: String

    package init(
        identity: Sealed,
        registeredAt: Timestamp,
        sessionOpened: Bool,
        lastSession: Timestamp?,
        revocation: Revocation?,
        revokedAt: Timestamp,
        isSolutionRevoked: Bool,
        isLinkedToRecoveryCode: Bool,
        hasDeletionCode: Bool,
        assertionCounter: UInt32?,
        attempts: AttemptRecord?,
        epochCharges: ArraySlice<EpochCharge> = [],
        attested: String
    ) {
        self.identity = identity
        self.registeredAt = registeredAt
        self.sessionOpened = sessionOpened
        self.lastSession = lastSession
        self.revocation = revocation
        self.revokedAt = revokedAt
        self.isSolutionRevoked = isSolutionRevoked
        self.isLinkedToRecoveryCode = isLinkedToRecoveryCode
        self.hasDeletionCode = hasDeletionCode
        self.assertionCounter = assertionCounter
        self.attempts = attempts
        self.epochCharges = epochCharges
        self.attested = attested
    }
}

/// A wallet in a listing.
package struct StoredListing: Hashable, Sendable {
    /// The wallet's position in order of registration.
    ///
    /// It is unique and never reused.
    package var cursor: UInt64
    package var walletID: WalletID
    /// The attested facts as a JSON object, or nil if they are missing.
    package var attested: String?
    package var registeredAt: Timestamp
    package var sessionOpened: Bool
    package var lastSession: Timestamp?
    /// The wallet's revocation, or nil while it is in use.
    package var revocation: Revocation?
    /// The stored record, or nil if it is damaged.
    ///
    /// Use ``attempts(under:)`` for the effective record.
    package var attempts: AttemptRecord?
    /// The restore charges that the stored record does not include yet.
    package var epochCharges: ArraySlice<EpochCharge>

    package init(
        cursor: UInt64,
        walletID: WalletID,
        attested: String?,
        registeredAt: Timestamp,
        sessionOpened: Bool,
        lastSession: Timestamp?,
        revocation: Revocation?,
        attempts: AttemptRecord?,
        epochCharges: ArraySlice<EpochCharge> = []
    ) {
        self.cursor = cursor
        self.walletID = walletID
        self.attested = attested
        self.registeredAt = registeredAt
        self.sessionOpened = sessionOpened
        self.lastSession = lastSession
        self.revocation = revocation
        self.attempts = attempts
        self.epochCharges = epochCharges
    }
}

extension WalletReport {
    /// Returns the effective record under a policy, including restore charges, or nil if the record is damaged.
    package func attempts(under policy: AttemptPolicy) -> AttemptRecord? {
        var attempts = self.attempts
        attempts?.enter(self.epochCharges, policy: policy)
        return attempts
    }
}

extension StoredListing {
    /// The attested platform, or nil if the attested facts do not include it.
    package var platform: Platform? {
        struct Facts: Decodable { var platform: String? }
        let facts = self.attested.flatMap { try? JSONDecoder().decode(Facts.self, from: Data($0.utf8)) }
        return facts?.platform.flatMap { Platform(rawValue: $0) }
    }

    /// Returns the effective record under a policy, including restore charges, or nil if the record is damaged.
    package func attempts(under policy: AttemptPolicy) -> AttemptRecord? {
        var attempts = self.attempts
        attempts?.enter(self.epochCharges, policy: policy)
        return attempts
    }
}

package enum WalletsRevocationOutcome: Hashable, Sendable {
    /// All wallets have ended: `now` of them in this step, `before` of them earlier.
    case revoked(now: Int, before: Int)
    /// No wallets with these ids exist, so none of the others were ended.
    case unknown([WalletID])
}

/// The outcome of ending wallets.
package struct WalletsEnding: Hashable, Sendable {
    package var ended: Int
    /// The number of wallets that had already ended.
    package var before: Int
    package var unknown: Int

    package init(ended: Int = 0, before: Int = 0, unknown: Int = 0) {
        self.ended = ended
        self.before = before
        self.unknown = unknown
    }
}

/// The outcome of denying a recovery code and ending its wallets.
package struct RecoveryCodeRevocationOutcome: Hashable, Sendable {
    /// The time at which the code was denied.
    package var deniedAt: Timestamp
    /// Whether the code had already been denied before this step.
    package var wasDenied: Bool
    /// All wallets linked to the code.
    ///
    /// Each has ended, either in this step or earlier.
    package var linked: Set<WalletID>
    /// The number of wallets ended by this step.
    package var ended: Int

    package init(deniedAt: Timestamp, wasDenied: Bool, linked: Set<WalletID>, ended: Int) {
        self.deniedAt = deniedAt
        self.wasDenied = wasDenied
        self.linked = linked
        self.ended = ended
    }
}

/// A recovery code on the deny list.
package struct StoredDenial: Hashable, Sendable {
    package var mac: RecoveryCodeMAC
    package var deniedAt: Timestamp

    package init(mac: RecoveryCodeMAC, deniedAt: Timestamp) {
        self.mac = mac
        self.deniedAt = deniedAt
    }
}

/// The values set by operators, stored as text by name.
package struct OperatorValues: Hashable, Sendable {
    /// Increases with every change, so that an older state can be recognized.
    package var revision: Int64
    package var values: [String: Value]

    /// A text and the time at which it was set.
    package struct Value: Hashable, Sendable {
        package var text: String
        package var setAt: Timestamp

        package init(_ text: String, setAt: Timestamp) {
            self.text = text
            self.setAt = setAt
        }
    }

    package init(revision: Int64, values: [String: Value]) {
        self.revision = revision
        self.values = values
    }
}

extension Platform {
    /// The name of the value for the platform's update policy.
    package var policyName: String { "update-policy \(self.rawValue)" }
}

/// The names of the values in a shared store that tell a denial or revocation that an operator reversed, at any of its
/// servers, from one whose row another program removed.
extension OperatorValues {
    package static func reversal(of mac: RecoveryCodeMAC) -> String { "deny-list removed \(mac)" }
    package static let solutionReversal = "solution restored"
}
