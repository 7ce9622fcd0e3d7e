package import Vocabulary

/// How a server is.
package struct StatusReport: Hashable, Sendable {
    /// At most 64 bytes.
    package var version = ""
    package var now = Timestamp(milliseconds: 0)
    /// On the machine's clock, which no lab moves.
    package var startedAt = Timestamp(milliseconds: 0)
    package var uptime: Duration = .zero
    /// Open now, with and without a session.
    package var connections = 0
    package var sessions = 0
    package var wallets = WalletCounts()
    package var pins = PINCounts()
    package var commits = LatencyReport()
    /// One to 1024 of the vault's, ascending.
    package var keyVersions: [UInt32] = []
    /// The one that seals.
    package var activeKeyVersion: UInt32 = 0
    /// Nil where it cannot be told.
    package var certificateExpiresAt: Timestamp?
    /// Nil where there is none.
    package var statusListFetchedAt: Timestamp?
    package var isStatusListStale = false
    /// The audit log's newest entry, which is not yet this command's.
    package var auditNumber: UInt64 = 0
    /// At most 80 bytes.
    package var auditMAC = ""
    package var isSolutionRevoked = false
    package var logLevel = LogLevel.info
    /// Of the store, from 1 on.
    package var epoch = 1
    /// Nil where nothing was sealed anew since the start.
    package var reseal: ResealReport?

    /// Wallets by state; each is counted once.
    package struct WalletCounts: Hashable, Sendable {
        private var counts: [WalletCondition: Int] = [:]

        package init() {}

        package subscript(_ condition: WalletCondition) -> Int {
            get { self.counts[condition, default: 0] }
            set { self.counts[condition] = newValue == 0 ? nil : newValue }
        }
    }

    /// PINs that were entered since the start.
    package struct PINCounts: Hashable, Sendable {
        package var valid = 0
        /// Among them those that began a block.
        package var wrong = 0
        /// Not judged.
        package var blocked = 0

        package init(valid: Int = 0, wrong: Int = 0, blocked: Int = 0) {
            self.valid = valid
            self.wrong = wrong
            self.blocked = blocked
        }
    }

    /// How long commits took since the start, from their first step until they were synced; whole microseconds.
    package struct LatencyReport: Hashable, Sendable {
        package var count = 0
        package var median: Duration = .zero
        package var p99: Duration = .zero

        package init(count: Int = 0, median: Duration = .zero, p99: Duration = .zero) {
            self.count = count
            self.median = median
            self.p99 = p99
        }
    }

    package init() {}
}

/// How much of the server's work is written to its log.
package enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case debug, info, notice, warning, error
}

/// What state a wallet is in, as operators count and look for them.
package enum WalletCondition: String, Hashable, Sendable, CaseIterable {
    /// The next PIN is judged.
    case open
    case blocked
    case blockedPermanently = "blocked-permanently"
    /// Registered, and no session yet.
    case neverOpened = "never-opened"
    case revoked

    /// Its end before its beginning, and both before what is counted.
    package init(isRevoked: Bool, sessionOpened: Bool, pin: @autoclosure () -> PINState) {
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
package struct WalletFilter: Hashable, Sendable {
    /// Any where it is empty.
    package var conditions: Set<WalletCondition>
    package var platform: Platform?
    package var registeredFrom: Timestamp?
    package var registeredBefore: Timestamp?

    package init(
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
package struct ListedWallet: Hashable, Sendable {
    package var walletID: WalletID
    package var condition: WalletCondition
    /// As it was attested; nil where that does not say.
    package var platform: Platform?
    package var registeredAt: Timestamp
    /// Nil where the server knows of none.
    package var lastSession: Timestamp?
    /// Wrong PINs since the last right one.
    package var failures: Int

    package init(
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
package struct WalletPage: Hashable, Sendable {
    package var wallets: [ListedWallet]
    /// Where the next page begins; nil at the end.
    package var next: UInt64?

    package init(wallets: [ListedWallet], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }
}

/// A session that is open.
package struct OpenSessionReport: Hashable, Sendable {
    /// The connection's number in the log.
    package var connection: UInt64
    package var walletID: WalletID
    /// The address, or the IPv6 network; at most 64 bytes.
    package var source: String
    package var since: Timestamp
    package var instructions: Int
    /// As the app claims.
    package var appVersion: AppVersion
    /// As the app claims.
    package var platform: Platform

    package init(
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
package struct SessionPage: Hashable, Sendable {
    package var sessions: [OpenSessionReport]
    package var hasMore: Bool

    package init(sessions: [OpenSessionReport], hasMore: Bool) {
        self.sessions = sessions
        self.hasMore = hasMore
    }
}

/// A part of the server that was read again, or not.
package struct ReloadedPart: Hashable, Sendable {
    /// At most 64 bytes: `certificate`.
    package var name: String
    /// Why the old one stays, in at most 512 bytes; nil where the new one is in use.
    package var problem: String?

    package init(_ name: String, problem: String? = nil) {
        self.name = name
        self.problem = problem
    }
}
