public import Vocabulary

/// What is on file of a wallet; nothing in it is secret.
public struct WalletReport: Hashable, Sendable {
    public var walletID: WalletID
    /// The time to which the PIN's state belongs.
    public var now: Timestamp
    public var registeredAt: Timestamp
    /// Whether a session was ever opened.
    public var sessionOpened: Bool
    /// The last one; nil where the server knows of none.
    public var lastSession: Timestamp?
    /// Connections of this wallet now.
    public var openConnections: Int
    /// The wallet's own; nil while it is in use.
    public var revoked: Ended?
    /// The whole solution is; what is said of the wallet holds again once it is restored.
    public var solutionRevoked: Bool
    public var pin: PIN
    public var isLinkedToRecoveryCode: Bool
    /// One was given at registration.
    public var hasDeletionCode: Bool
    /// As the wallet's next session gets them.
    public var features: Features
    public var app: App
    /// The App Attest counter that counted last; nil on Android.
    public var assertionCounter: UInt32?
    /// What was attested at registration: a JSON object, at most 8192 bytes.
    public var attested: String

    /// How a wallet ended.
    public struct Ended: Hashable, Sendable {
        public var revocation: Revocation
        public var at: Timestamp

        public init(_ revocation: Revocation, at: Timestamp) {
            self.revocation = revocation
            self.at = at
        }
    }

    /// What is counted of the wallet's wrong PINs since the last right one.
    public struct PIN: Hashable, Sendable {
        public var state: PINState
        /// `1...16`, the round in which the next PIN is judged, or that ended with the block for good.
        public var round: Int
        /// Wrong PINs since the last right one, at most 65 535.
        public var failures: Int
        /// Nil unless there is a block with an end.
        public var blockedUntil: Timestamp?

        public init(state: PINState, round: Int, failures: Int, blockedUntil: Timestamp? = nil) {
            self.state = state
            self.round = round
            self.failures = failures
            self.blockedUntil = blockedUntil
        }
    }

    /// The app that registered, as it was attested.
    public struct App: Hashable, Sendable {
        public var platform: Platform
        /// Package, or team and bundle id; at most 255 bytes.
        public var id: String
        /// App Attest's, at most 31 bytes; empty on Android.
        public var environment: String

        public init(platform: Platform, id: String, environment: String) {
            self.platform = platform
            self.id = id
            self.environment = environment
        }
    }

    public init(
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
public struct DeniedEntry: Hashable, Sendable {
    public var mac: RecoveryCodeMAC
    public var deniedAt: Timestamp

    public init(mac: RecoveryCodeMAC, deniedAt: Timestamp) {
        self.mac = mac
        self.deniedAt = deniedAt
    }
}

/// What became of a recovery code's revocation.
public struct RecoveryCodeRevocation: Hashable, Sendable {
    public var entry: DeniedEntry
    /// It was on the list before.
    public var wasDenied: Bool
    /// Wallets that this command ended.
    public var revoked: Int

    public init(entry: DeniedEntry, wasDenied: Bool, revoked: Int) {
        self.entry = entry
        self.wasDenied = wasDenied
        self.revoked = revoked
    }
}

/// A part of the deny list, ascending by MAC.
public struct DeniedPage: Hashable, Sendable {
    public var entries: [DeniedEntry]
    /// Others follow behind the last entry.
    public var hasMore: Bool

    public init(entries: [DeniedEntry], hasMore: Bool) {
        self.entries = entries
        self.hasMore = hasMore
    }
}

/// A recovery code, or its MAC as the deny list shows it.
public enum DeniedName: Hashable, Sendable {
    case code(RecoveryCode)
    case mac(RecoveryCodeMAC)
}

/// Whether a recovery code is on the deny list.
public struct DeniedReport: Hashable, Sendable {
    public var mac: RecoveryCodeMAC
    /// Since when it is on the list, or was until it was removed just now; nil where it is not and was not.
    public var deniedAt: Timestamp?

    public init(mac: RecoveryCodeMAC, deniedAt: Timestamp?) {
        self.mac = mac
        self.deniedAt = deniedAt
    }
}

/// How a flag is set.
public struct FlagReport: Hashable, Sendable {
    public var flag: FeatureFlag
    public var rollout: Rollout
    /// Nil where nobody changed it yet.
    public var changedAt: Timestamp?

    public init(_ flag: FeatureFlag, _ rollout: Rollout, changedAt: Timestamp?) {
        self.flag = flag
        self.rollout = rollout
        self.changedAt = changedAt
    }
}

/// The update policy that counts now.
public struct UpdatePolicyReport: Hashable, Sendable {
    public var now: Timestamp
    public var android: Rules
    public var iOS: Rules

    /// One platform's.
    public struct Rules: Hashable, Sendable {
        /// At most ``UpdateRule/most``, the first one that fits counts.
        public var rules: [UpdateRule]
        /// When an operator set them; nil where they are what the settings say.
        public var setAt: Timestamp?

        public init(_ rules: [UpdateRule], setAt: Timestamp?) {
            self.rules = rules
            self.setAt = setAt
        }
    }

    public init(now: Timestamp, android: Rules, iOS: Rules) {
        self.now = now
        self.android = android
        self.iOS = iOS
    }

    /// One platform's part.
    public subscript(_ platform: Platform) -> Rules {
        switch platform {
        case .android: self.android
        case .iOS: self.iOS
        }
    }
}
