internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension StatusReport {
    private static let longestVersion = 64
    private static let longestMAC = 80
    private static let mostKeyVersions = 1024

    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__StatusReport> {
        let message = unsafe arena.place(remotepin__v1__status_report__init)
        unsafe message.pointee.version = arena.text(self.version)
        unsafe message.pointee.now_ms = self.now.wireMilliseconds
        unsafe message.pointee.started_at_ms = self.startedAt.wireMilliseconds
        unsafe message.pointee.uptime_ms = self.uptime.wireMilliseconds
        unsafe message.pointee.connections = UInt32(clamping: self.connections)
        unsafe message.pointee.sessions = UInt32(clamping: self.sessions)
        unsafe message.pointee.wallets = self.wallets.placed(in: arena)
        let pins = unsafe arena.place(remotepin__v1__pin_counts__init)
        unsafe pins.pointee.valid = UInt64(clamping: self.pins.valid)
        unsafe pins.pointee.wrong = UInt64(clamping: self.pins.wrong)
        unsafe pins.pointee.blocked = UInt64(clamping: self.pins.blocked)
        unsafe message.pointee.pins = unsafe pins
        let commits = unsafe arena.place(remotepin__v1__latency_report__init)
        unsafe commits.pointee.count = UInt64(clamping: self.commits.count)
        unsafe commits.pointee.median_us = self.commits.median.wireMicroseconds
        unsafe commits.pointee.p99_us = self.commits.p99.wireMicroseconds
        unsafe message.pointee.commits = unsafe commits
        let versions = unsafe arena.pieces(of: UInt32.self, count: self.keyVersions.count)
        for (index, version) in self.keyVersions.enumerated() { unsafe versions[index] = version }
        unsafe message.pointee.key_versions = unsafe versions
        unsafe message.pointee.n_key_versions = self.keyVersions.count
        unsafe message.pointee.active_key_version = self.activeKeyVersion
        unsafe message.pointee.certificate_expires_at_ms = self.certificateExpiresAt?.wireMilliseconds ?? 0
        unsafe message.pointee.status_list_fetched_at_ms = self.statusListFetchedAt?.wireMilliseconds ?? 0
        unsafe message.pointee.status_list_stale = self.isStatusListStale ? 1 : 0
        unsafe message.pointee.audit_number = self.auditNumber
        unsafe message.pointee.audit_mac = arena.text(self.auditMAC)
        unsafe message.pointee.solution_revoked = self.isSolutionRevoked ? 1 : 0
        unsafe message.pointee.log_level = self.logLevel.wire
        unsafe message.pointee.epoch = UInt32(clamping: self.epoch)
        if let reseal { unsafe message.pointee.reseal = reseal.placed(in: arena) }
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__StatusReport) throws(FieldFault) {
        self.init()
        self.version = try unsafe text(message.version, .version, in: 0...Self.longestVersion)
        self.now = try unsafe Timestamp(wireMilliseconds: message.now_ms, .now)
        self.startedAt = try unsafe Timestamp(wireMilliseconds: message.started_at_ms, .startedAt)
        self.uptime = try unsafe Duration(wireMilliseconds: message.uptime_ms, .startedAt, in: 0...UInt64(Int64.max))
        self.connections = unsafe Int(message.connections)
        self.sessions = unsafe Int(message.sessions)
        self.wallets = try unsafe WalletCounts(copying: required(message.wallets, .walletCounts).pointee)
        let pins = try unsafe required(message.pins, .pinCounts).pointee
        self.pins = unsafe PINCounts(
            valid: Int(clamping: pins.valid),
            wrong: Int(clamping: pins.wrong),
            blocked: Int(clamping: pins.blocked)
        )
        let commits = try unsafe required(message.commits, .commits).pointee
        self.commits = unsafe LatencyReport(
            count: Int(clamping: commits.count),
            median: .microseconds(Int64(clamping: commits.median_us)),
            p99: .microseconds(Int64(clamping: commits.p99_us))
        )
        guard unsafe (1...Self.mostKeyVersions).contains(message.n_key_versions),
            let versions = unsafe message.key_versions
        else { throw .invalid(.keyVersions) }
        self.keyVersions = unsafe (0..<message.n_key_versions).map { unsafe versions[$0] }
        self.activeKeyVersion = unsafe message.active_key_version
        self.certificateExpiresAt = try unsafe .ifAny(message.certificate_expires_at_ms, .expiresAt)
        self.statusListFetchedAt = try unsafe .ifAny(message.status_list_fetched_at_ms, .fetchedAt)
        self.isStatusListStale = unsafe message.status_list_stale != 0
        self.auditNumber = unsafe message.audit_number
        self.auditMAC = try unsafe text(message.audit_mac, .mac, in: 0...Self.longestMAC)
        self.isSolutionRevoked = unsafe message.solution_revoked != 0
        self.logLevel = try unsafe LogLevel(wire: message.log_level)
        guard unsafe message.epoch > 0 else { throw .invalid(.epoch) }
        self.epoch = unsafe Int(message.epoch)
        if unsafe message.reseal != nil { self.reseal = try unsafe ResealReport(copying: message.reseal.pointee) }
    }
}

extension StatusReport.WalletCounts {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__WalletCounts> {
        let message = unsafe arena.place(remotepin__v1__wallet_counts__init)
        unsafe message.pointee.open = UInt64(clamping: self[.open])
        unsafe message.pointee.blocked = UInt64(clamping: self[.blocked])
        unsafe message.pointee.blocked_permanently = UInt64(clamping: self[.blockedPermanently])
        unsafe message.pointee.never_opened = UInt64(clamping: self[.neverOpened])
        unsafe message.pointee.revoked = UInt64(clamping: self[.revoked])
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__WalletCounts) {
        self.init()
        self[.open] = unsafe Int(clamping: message.open)
        self[.blocked] = unsafe Int(clamping: message.blocked)
        self[.blockedPermanently] = unsafe Int(clamping: message.blocked_permanently)
        self[.neverOpened] = unsafe Int(clamping: message.never_opened)
        self[.revoked] = unsafe Int(clamping: message.revoked)
    }
}

extension LogLevel {
    var wire: Remotepin__V1__LogLevel {
        switch self {
        case .debug: REMOTEPIN__V1__LOG_LEVEL__LOG_LEVEL_DEBUG
        case .info: REMOTEPIN__V1__LOG_LEVEL__LOG_LEVEL_INFO
        case .notice: REMOTEPIN__V1__LOG_LEVEL__LOG_LEVEL_NOTICE
        case .warning: REMOTEPIN__V1__LOG_LEVEL__LOG_LEVEL_WARNING
        case .error: REMOTEPIN__V1__LOG_LEVEL__LOG_LEVEL_ERROR
        }
    }

    init(wire: Remotepin__V1__LogLevel) throws(FieldFault) {
        guard let level = LogLevel.allCases.first(where: { $0.wire == wire }) else { throw .invalid(.logLevel) }
        self = level
    }
}

extension Duration {
    /// Whole microseconds; what is negative counts as none.
    fileprivate var wireMicroseconds: UInt64 {
        let (seconds, attoseconds) = self.components
        return UInt64(clamping: seconds) * 1_000_000 + UInt64(clamping: attoseconds / 1_000_000_000_000)
    }
}

extension Timestamp? {
    /// A point in time, or 0 for none.
    static func ifAny(_ milliseconds: UInt64, _ field: WireField) throws(FieldFault) -> Timestamp? {
        milliseconds == 0 ? nil : try Timestamp(wireMilliseconds: milliseconds, field)
    }
}
