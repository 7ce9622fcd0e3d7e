public import Vocabulary

/// How a server is.
public struct StatusReport: Hashable, Sendable {
    /// At most 64 bytes.
    public var version = ""
    public var now = Timestamp(milliseconds: 0)
    /// On the machine's clock, which no lab moves.
    public var startedAt = Timestamp(milliseconds: 0)
    public var uptime: Duration = .zero
    /// Open now, with and without a session.
    public var connections = 0
    public var sessions = 0
    public var wallets = WalletCounts()
    public var pins = PINCounts()
    public var commits = LatencyReport()
    /// One to 1024 of the vault's, ascending.
    public var keyVersions: [UInt32] = []
    /// The one that seals.
    public var activeKeyVersion: UInt32 = 0
    /// Nil where it cannot be told.
    public var certificateExpiresAt: Timestamp?
    /// Nil where there is none.
    public var statusListFetchedAt: Timestamp?
    public var isStatusListStale = false
    /// The audit log's newest entry, which is not yet this command's.
    public var auditNumber: UInt64 = 0
    /// At most 80 bytes.
    public var auditMAC = ""
    public var isSolutionRevoked = false
    public var logLevel = LogLevel.info
    /// Of the store, from 1 on.
    public var epoch = 1
    /// Nil where nothing was sealed anew since the start.
    public var reseal: ResealReport?

    /// Wallets by state; each is counted once.
    public struct WalletCounts: Hashable, Sendable {
        private var counts: [WalletCondition: Int] = [:]

        public init() {}

        public subscript(_ condition: WalletCondition) -> Int {
            get { self.counts[condition, default: 0] }
            set { self.counts[condition] = newValue == 0 ? nil : newValue }
        }
    }

    /// PINs that were entered since the start.
    public struct PINCounts: Hashable, Sendable {
        public var valid = 0
        /// Among them those that began a block.
        public var wrong = 0
        /// Not judged.
        public var blocked = 0

        public init(valid: Int = 0, wrong: Int = 0, blocked: Int = 0) {
            self.valid = valid
            self.wrong = wrong
            self.blocked = blocked
        }
    }

    /// How long commits took since the start, from their first step until they were synced; whole microseconds.
    public struct LatencyReport: Hashable, Sendable {
        public var count = 0
        public var median: Duration = .zero
        public var p99: Duration = .zero

        public init(count: Int = 0, median: Duration = .zero, p99: Duration = .zero) {
            self.count = count
            self.median = median
            self.p99 = p99
        }
    }

    public init() {}
}

/// How much of the server's work is written to its log.
public enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case debug, info, notice, warning, error
}

/// What state a wallet is in, as operators count and look for them.
public enum WalletCondition: String, Hashable, Sendable, CaseIterable {
    /// The next PIN is judged.
    case open
    case blocked
    case blockedPermanently = "blocked-permanently"
    /// Registered, and no session yet.
    case neverOpened = "never-opened"
    case revoked

    /// Its end before its beginning, and both before what is counted.
    public init(isRevoked: Bool, sessionOpened: Bool, pin: @autoclosure () -> PINState) {
        guard !isRevoked else {
            self = .revoked
            return
        }
        guard sessionOpened else {
            self = .neverOpened
            return
        }
        switch pin() {
        case .open: self = .open
        case .blocked: self = .blocked
        case .blockedPermanently: self = .blockedPermanently
        }
    }
}

/// Which wallets are listed: those that fit all that is said.
public struct WalletFilter: Hashable, Sendable {
    /// Any where it is empty.
    public var conditions: Set<WalletCondition>
    public var platform: Platform?
    public var registeredFrom: Timestamp?
    public var registeredBefore: Timestamp?

    public init(
        conditions: Set<WalletCondition> = [],
        platform: Platform? = nil,
        registeredFrom: Timestamp? = nil,
        registeredBefore: Timestamp? = nil
    ) {
        self.conditions = conditions
        self.platform = platform
        self.registeredFrom = registeredFrom
        self.registeredBefore = registeredBefore
    }
}

/// A wallet in a list.
public struct ListedWallet: Hashable, Sendable {
    public var walletID: WalletID
    public var condition: WalletCondition
    /// As it was attested; nil where that does not say.
    public var platform: Platform?
    public var registeredAt: Timestamp
    /// Nil where the server knows of none.
    public var lastSession: Timestamp?
    /// Wrong PINs since the last right one.
    public var failures: Int

    public init(
        walletID: WalletID,
        condition: WalletCondition,
        platform: Platform?,
        registeredAt: Timestamp,
        lastSession: Timestamp?,
        failures: Int
    ) {
        self.walletID = walletID
        self.condition = condition
        self.platform = platform
        self.registeredAt = registeredAt
        self.lastSession = lastSession
        self.failures = failures
    }
}

/// A part of the wallets that fit, in the order of their registration; perhaps none, and others follow all the same.
public struct WalletPage: Hashable, Sendable {
    public var wallets: [ListedWallet]
    /// Where the next page begins; nil at the end.
    public var next: UInt64?

    public init(wallets: [ListedWallet], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }
}

/// A session that is open.
public struct OpenSessionReport: Hashable, Sendable {
    /// The connection's number in the log.
    public var connection: UInt64
    public var walletID: WalletID
    /// The address, or the IPv6 network; at most 64 bytes.
    public var source: String
    public var since: Timestamp
    public var instructions: Int
    /// As the app claims.
    public var appVersion: AppVersion
    /// As the app claims.
    public var platform: Platform

    public init(
        connection: UInt64,
        walletID: WalletID,
        source: String,
        since: Timestamp,
        instructions: Int,
        appVersion: AppVersion,
        platform: Platform
    ) {
        self.connection = connection
        self.walletID = walletID
        self.source = source
        self.since = since
        self.instructions = instructions
        self.appVersion = appVersion
        self.platform = platform
    }
}

/// A part of the open sessions, in the order of their connections.
public struct SessionPage: Hashable, Sendable {
    public var sessions: [OpenSessionReport]
    public var hasMore: Bool

    public init(sessions: [OpenSessionReport], hasMore: Bool) {
        self.sessions = sessions
        self.hasMore = hasMore
    }
}

/// A part of the server that was read again, or not.
public struct ReloadedPart: Hashable, Sendable {
    /// At most 64 bytes: `certificate`.
    public var name: String
    /// Why the old one stays, in at most 512 bytes; nil where the new one is in use.
    public var problem: String?

    public init(_ name: String, problem: String? = nil) {
        self.name = name
        self.problem = problem
    }
}
