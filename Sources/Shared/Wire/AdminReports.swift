package import Vocabulary

/// What is on file of a wallet; nothing in it is secret.
package struct WalletReport: Hashable, Sendable {
    package var walletID: WalletID
    /// The time to which the PIN's state belongs.
    package var now: Timestamp
    package var registeredAt: Timestamp
    /// Whether a session was ever opened.
    package var sessionOpened: Bool
    /// The last one; nil where the server knows of none.
    package var lastSession: Timestamp?
    /// Connections of this wallet now.
    package var openConnections: Int
    /// The wallet's own; nil while it is in use.
    package var revoked: Ended?
    /// The whole solution is; what is said of the wallet holds again once it is restored.
    package var solutionRevoked: Bool
    package var pin: PIN
    package var isLinkedToRecoveryCode: Bool
    /// One was given at registration.
    package var hasDeletionCode: Bool
    /// As the wallet's next session gets them.
    package var features: Features
    package var app: App
    /// The App Attest counter that counted last; nil on Android.
    package var assertionCounter: UInt32?
    /// What was attested at registration: a JSON object, at most 8192 bytes.
    package var attested: String

    /// How a wallet ended.
    package struct Ended: Hashable, Sendable {
        package var revocation: Revocation
        package var at: Timestamp

        package init(_ revocation: Revocation, at: Timestamp) {
            self.revocation = revocation
            self.at = at
        }
    }

    /// What is counted of the wallet's wrong PINs since the last right one.
    package struct PIN: Hashable, Sendable {
        package var state: PINState
        /// `1...16`, the round in which the next PIN is judged, or that ended with the block for good.
        package var round: Int
        /// Wrong PINs since the last right one, at most 65 535.
        package var failures: Int
        /// Nil unless there is a block with an end.
        package var blockedUntil: Timestamp?

        package init(state: PINState, round: Int, failures: Int, blockedUntil: Timestamp? = nil) {
            self.state = state
            self.round = round
            self.failures = failures
            self.blockedUntil = blockedUntil
        }
    }

    /// The app that registered, as it was attested.
    package struct App: Hashable, Sendable {
        package var platform: Platform
        /// Package, or team and bundle id; at most 255 bytes.
        package var id: String
        /// App Attest's, at most 31 bytes; empty on Android.
        package var environment: String

        package init(platform: Platform, id: String, environment: String) {
            self.platform = platform
            self.id = id
            self.environment = environment
        }
    }

    package init(
        walletID: WalletID,
        now: Timestamp,
        registeredAt: Timestamp,
        sessionOpened: Bool,
        lastSession: Timestamp?,
        openConnections: Int,
        revoked: Ended?,
        solutionRevoked: Bool,
        pin: PIN,
        isLinkedToRecoveryCode: Bool,
        hasDeletionCode: Bool,
        features: Features,
        app: App,
        assertionCounter: UInt32?,
        attested: String
    ) {
        self.walletID = walletID
        self.now = now
        self.registeredAt = registeredAt
        self.sessionOpened = sessionOpened
        self.lastSession = lastSession
        self.openConnections = openConnections
        self.revoked = revoked
        self.solutionRevoked = solutionRevoked
        self.pin = pin
        self.isLinkedToRecoveryCode = isLinkedToRecoveryCode
        self.hasDeletionCode = hasDeletionCode
        self.features = features
        self.app = app
        self.assertionCounter = assertionCounter
        self.attested = attested
    }
}

/// A recovery code on the deny list.
package struct DeniedEntry: Hashable, Sendable {
    package var mac: RecoveryCodeMAC
    package var deniedAt: Timestamp

    package init(mac: RecoveryCodeMAC, deniedAt: Timestamp) {
        self.mac = mac
        self.deniedAt = deniedAt
    }
}

/// What became of a recovery code's revocation.
package struct RecoveryCodeRevocation: Hashable, Sendable {
    package var entry: DeniedEntry
    /// It was on the list before.
    package var wasDenied: Bool
    /// Wallets that this command ended.
    package var revoked: Int

    package init(entry: DeniedEntry, wasDenied: Bool, revoked: Int) {
        self.entry = entry
        self.wasDenied = wasDenied
        self.revoked = revoked
    }
}

/// A part of the deny list, ascending by MAC.
package struct DeniedPage: Hashable, Sendable {
    package var entries: [DeniedEntry]
    /// Others follow behind the last entry.
    package var hasMore: Bool

    package init(entries: [DeniedEntry], hasMore: Bool) {
        self.entries = entries
        self.hasMore = hasMore
    }
}

/// A recovery code, or its MAC as the deny list shows it.
package enum DeniedName: Hashable, Sendable {
    case code(RecoveryCode)
    case mac(RecoveryCodeMAC)
}

/// Whether a recovery code is on the deny list.
package struct DeniedReport: Hashable, Sendable {
    package var mac: RecoveryCodeMAC
    /// Since when it is on the list, or was until it was removed just now; nil where it is not and was not.
    package var deniedAt: Timestamp?

    package init(mac: RecoveryCodeMAC, deniedAt: Timestamp?) {
        self.mac = mac
        self.deniedAt = deniedAt
    }
}

/// How a flag is set.
package struct FlagReport: Hashable, Sendable {
    package var flag: FeatureFlag
    package var rollout: Rollout
    /// Nil where nobody changed it yet.
    package var changedAt: Timestamp?

    package init(_ flag: FeatureFlag, _ rollout: Rollout, changedAt: Timestamp?) {
        self.flag = flag
        self.rollout = rollout
        self.changedAt = changedAt
    }
}

/// The update policy that counts now.
package struct UpdatePolicyReport: Hashable, Sendable {
    package var now: Timestamp
    package var android: Rules
    package var iOS: Rules

    /// One platform's.
    package struct Rules: Hashable, Sendable {
        /// At most ``UpdateRule/most``, the first one that fits counts.
        package var rules: [UpdateRule]
        /// When an operator set them; nil where they are what the settings say.
        package var setAt: Timestamp?

        package init(_ rules: [UpdateRule], setAt: Timestamp?) {
            self.rules = rules
            self.setAt = setAt
        }
    }

    package init(now: Timestamp, android: Rules, iOS: Rules) {
        self.now = now
        self.android = android
        self.iOS = iOS
    }

    /// One platform's part.
    package subscript(_ platform: Platform) -> Rules {
        switch platform {
        case .android: self.android
        case .iOS: self.iOS
        }
    }
}
