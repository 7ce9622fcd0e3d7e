package import Vocabulary

/// What somebody did, or a server did for somebody, as the audit log keeps it.
///
/// No value of it can hold a deletion code or a recovery code: wallets are named by their ids, recovery codes by the
/// vault's MACs.
package struct AuditRecord: Hashable, Sendable {
    package var at: Timestamp
    /// The epoch of the store, which a restore raises.
    package var epoch: Int
    package var actor: AuditActor
    package var event: AuditEvent
    package var subject: AuditSubject
    package var phase: AuditPhase
    /// What the command said beside its subject, in a word or two: `percent 10`.
    package var detail: String?

    package init(
        at: Timestamp,
        epoch: Int,
        actor: AuditActor,
        event: AuditEvent,
        subject: AuditSubject = AuditSubject(),
        phase: AuditPhase,
        detail: String? = nil
    ) {
        self.at = at
        self.epoch = epoch
        self.actor = actor
        self.event = event
        self.subject = subject
        self.phase = phase
        self.detail = detail
    }
}

/// One entry of the log: a record in its place.
package struct AuditEntry: Hashable, Sendable {
    /// From 1 on, without gaps.
    package var number: UInt64
    package var record: AuditRecord

    package init(number: UInt64, record: AuditRecord) {
        self.number = number
        self.record = record
    }
}

/// On whose behalf something was done.
package struct AuditActor: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A user of this machine, by the number that the kernel says of the socket's other end.
    package static func user(_ id: UInt32, name: String?) -> AuditActor {
        AuditActor(rawValue: "uid \(id)" + (name.map { " (\($0))" } ?? ""))
    }

    /// A wallet that proved itself.
    package static let wallet = AuditActor(rawValue: "wallet")
    /// Whoever has a wallet's deletion code.
    package static let deletionCode = AuditActor(rawValue: "deletion code")
    /// The same through the portal.
    package static let portal = AuditActor(rawValue: "portal")
    /// The server itself.
    package static let server = AuditActor(rawValue: "server")
}

/// The name of a command, as operators type it, or of another event.
///
/// Commands that a restore replays or that a stopped server carries out as well have constants here; the others are
/// named in Administration.
package struct AuditEvent: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A server began to serve the store; the detail has its version, attempt policy and a digest of its settings.
    package static let started = AuditEvent(rawValue: "started")
    /// A server stopped in order.
    package static let stopped = AuditEvent(rawValue: "stopped")
    /// The log's first entry.
    package static let logBegun = AuditEvent(rawValue: "log begun")
    /// A crash left a part of an entry, which stands before this one and is nobody's word.
    package static let tornTail = AuditEvent(rawValue: "torn tail")
    /// A wallet's user revoked it by its deletion code.
    package static let deletionCode = AuditEvent(rawValue: "deletion code")
    /// A wallet said that it wiped itself.
    package static let wipe = AuditEvent(rawValue: "wipe")
    /// A wallet asked to be linked to a recovery code of the deny list, which ends it.
    package static let deniedLink = AuditEvent(rawValue: "link to a denied recovery code")
    /// Wallets entered their last wrong PIN; entered after the commit that counted it.
    package static let blockedPermanently = AuditEvent(rawValue: "blocked permanently")
    package static let revokeWallets = AuditEvent(rawValue: "revoke wallet")
    package static let revokeRecoveryCode = AuditEvent(rawValue: "revoke recovery-code")
    package static let revokeSolution = AuditEvent(rawValue: "revoke solution")
    package static let restoreSolution = AuditEvent(rawValue: "restore solution")
    package static let removeDenied = AuditEvent(rawValue: "deny-list remove")
    /// A backup of the store was made.
    package static let backup = AuditEvent(rawValue: "backup")
    /// A backup took the store's place, and an epoch began.
    package static let restore = AuditEvent(rawValue: "restore")
    /// Wallets that had ended were removed.
    package static let purge = AuditEvent(rawValue: "purge")
    /// The vault got a new key version.
    package static let rotateVault = AuditEvent(rawValue: "vault rotate")
    /// All values are sealed with the vault's active key version.
    package static let resealed = AuditEvent(rawValue: "vault sealed anew")
    /// Key versions that seal nothing any more were removed.
    package static let retireVault = AuditEvent(rawValue: "vault retire")
    /// A command that this version does not know.
    package static let unknown = AuditEvent(rawValue: "unknown")

    /// The events that are not commands to a running server.
    package static let others: [AuditEvent] = [
        .restore, .deletionCode, .wipe, .deniedLink, .blockedPermanently, .purge, .resealed, .started, .stopped, .logBegun,
        .tornTail, .unknown,
    ]
}

/// What it was done to.
package struct AuditSubject: Hashable, Sendable {
    package var wallets: [WalletID]
    package var recoveryCode: RecoveryCodeMAC?

    package init(wallets: [WalletID] = [], recoveryCode: RecoveryCodeMAC? = nil) {
        self.wallets = wallets
        self.recoveryCode = recoveryCode
    }

    /// Wallets that one entry names; it has 400 KB then, a tenth of what is read as one.
    package static let walletsInEntry = 10_000

    /// The same for several entries, none of which names more wallets than one may; a single one in nearly all cases.
    package var inParts: [AuditSubject] {
        guard self.wallets.count > Self.walletsInEntry else { return [self] }
        return stride(from: 0, to: self.wallets.count, by: Self.walletsInEntry).map { start in
            AuditSubject(
                wallets: Array(self.wallets[start...].prefix(Self.walletsInEntry)),
                recoveryCode: self.recoveryCode
            )
        }
    }
}

/// How far it came.
///
/// Who replays a log takes a `begun` for done unless a `failed` names it: the commit may have been the last thing before
/// a crash, or before a store that did not answer.
package enum AuditPhase: Hashable, Sendable {
    /// About to be committed.
    case begun
    /// Done, with what came of it; `of` is the number of the `begun` entry where there is one.
    case done(of: UInt64?, result: String)
    /// Not done, and nothing of it.
    case failed(of: UInt64?, reason: String)
    /// Perhaps done: the store did not say, and the caller was told to ask again.
    case unclear(of: UInt64, reason: String)
}

/// A place in the log that proves all entries up to it: the number of an entry and its MAC.
package struct AuditMark: Hashable, Sendable, CustomStringConvertible {
    package var number: UInt64
    package var mac: String

    package init(number: UInt64, mac: String) {
        self.number = number
        self.mac = mac
    }

    /// Reads `NUMBER:MAC`, as the log stream and `audit verify` write it.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let number = UInt64(parts[0]), number > 0, AuditLine.isMAC(parts[1].utf8) else {
            return nil
        }
        self.init(number: number, mac: String(parts[1]))
    }

    package var description: String { "\(self.number):\(self.mac)" }
}
