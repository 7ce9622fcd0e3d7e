internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension WalletCondition {
    var wire: Remotepin__V1__WalletCondition {
        switch self {
        case .open: REMOTEPIN__V1__WALLET_CONDITION__WALLET_CONDITION_OPEN
        case .blocked: REMOTEPIN__V1__WALLET_CONDITION__WALLET_CONDITION_BLOCKED
        case .blockedPermanently: REMOTEPIN__V1__WALLET_CONDITION__WALLET_CONDITION_BLOCKED_PERMANENTLY
        case .neverOpened: REMOTEPIN__V1__WALLET_CONDITION__WALLET_CONDITION_NEVER_OPENED
        case .revoked: REMOTEPIN__V1__WALLET_CONDITION__WALLET_CONDITION_REVOKED
        }
    }

    init(wire: Remotepin__V1__WalletCondition) throws(FieldFault) {
        guard let condition = WalletCondition.allCases.first(where: { $0.wire == wire }) else {
            throw .invalid(.condition)
        }
        self = condition
    }
}

extension WalletFilter {
    /// Adds the filter to a request.
    func place(in message: UnsafeMutablePointer<Remotepin__V1__ListWalletsRequest>, _ arena: borrowing Arena) {
        let sorted = WalletCondition.allCases.filter(self.conditions.contains)
        let list = unsafe arena.pieces(of: Remotepin__V1__WalletCondition.self, count: sorted.count)
        for (index, condition) in sorted.enumerated() { unsafe list[index] = condition.wire }
        unsafe message.pointee.conditions = unsafe list
        unsafe message.pointee.n_conditions = sorted.count
        if let platform { unsafe message.pointee.platform = platform.wire }
        unsafe message.pointee.registered_from_ms = self.registeredFrom?.wireMilliseconds ?? 0
        unsafe message.pointee.registered_before_ms = self.registeredBefore?.wireMilliseconds ?? 0
    }

    /// Copies a request's filter out of the tree.
    init(copying message: Remotepin__V1__ListWalletsRequest) throws(FieldFault) {
        let count = unsafe message.n_conditions
        guard count <= WalletCondition.allCases.count else { throw .invalid(.condition) }
        var conditions: Set<WalletCondition> = []
        for index in 0..<count { conditions.insert(try unsafe WalletCondition(wire: message.conditions[index])) }
        guard conditions.count == count else { throw .invalid(.condition) }
        self.init(
            conditions: conditions,
            platform: try unsafe Platform?(wire: message.platform),
            registeredFrom: try unsafe .ifAny(message.registered_from_ms, .registeredAt),
            registeredBefore: try unsafe .ifAny(message.registered_before_ms, .registeredAt)
        )
    }
}

extension WalletPage {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__WalletPage> {
        let message = unsafe arena.place(remotepin__v1__wallet_page__init)
        let count = self.wallets.count
        let list = unsafe arena.pieces(of: UnsafeMutablePointer<Remotepin__V1__ListedWallet>?.self, count: count)
        for (index, wallet) in self.wallets.enumerated() { unsafe list[index] = wallet.placed(in: arena) }
        unsafe message.pointee.wallets = unsafe list
        unsafe message.pointee.n_wallets = count
        unsafe message.pointee.has_more = self.next == nil ? 0 : 1
        unsafe message.pointee.next = self.next ?? 0
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__WalletPage) throws(FieldFault) {
        guard unsafe message.n_wallets <= AdminCommand.mostListed else { throw .invalid(.walletIDs) }
        var wallets: [ListedWallet] = []
        for index in unsafe 0..<message.n_wallets {
            wallets.append(try unsafe ListedWallet(copying: required(message.wallets[index], .walletIDs).pointee))
        }
        self.init(wallets: wallets, next: unsafe message.has_more != 0 ? unsafe message.next : nil)
    }
}

extension ListedWallet {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__ListedWallet> {
        let message = unsafe arena.place(remotepin__v1__listed_wallet__init)
        unsafe message.pointee.wallet_id = arena.bytes(self.walletID)
        unsafe message.pointee.condition = self.condition.wire
        if let platform { unsafe message.pointee.platform = platform.wire }
        unsafe message.pointee.registered_at_ms = self.registeredAt.wireMilliseconds
        unsafe message.pointee.last_session_ms = self.lastSession?.wireMilliseconds ?? 0
        unsafe message.pointee.failures = UInt32(clamping: self.failures)
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__ListedWallet) throws(FieldFault) {
        self.init(
            walletID: try unsafe message.wallet_id.fixed(.walletID),
            condition: try unsafe WalletCondition(wire: message.condition),
            platform: try unsafe Platform?(wire: message.platform),
            registeredAt: try unsafe Timestamp(wireMilliseconds: message.registered_at_ms, .registeredAt),
            lastSession: try unsafe .ifAny(message.last_session_ms, .now),
            failures: unsafe Int(message.failures)
        )
    }
}

extension SessionPage {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__SessionPage> {
        let message = unsafe arena.place(remotepin__v1__session_page__init)
        let count = self.sessions.count
        let list = unsafe arena.pieces(of: UnsafeMutablePointer<Remotepin__V1__OpenSessionReport>?.self, count: count)
        for (index, session) in self.sessions.enumerated() { unsafe list[index] = session.placed(in: arena) }
        unsafe message.pointee.sessions = unsafe list
        unsafe message.pointee.n_sessions = count
        unsafe message.pointee.has_more = self.hasMore ? 1 : 0
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__SessionPage) throws(FieldFault) {
        guard unsafe message.n_sessions <= AdminCommand.mostListed else { throw .invalid(.session) }
        var sessions: [OpenSessionReport] = []
        for index in unsafe 0..<message.n_sessions {
            sessions.append(try unsafe OpenSessionReport(copying: required(message.sessions[index], .session).pointee))
        }
        self.init(sessions: sessions, hasMore: unsafe message.has_more != 0)
    }
}

extension OpenSessionReport {
    private static let longestSource = 64

    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__OpenSessionReport> {
        let message = unsafe arena.place(remotepin__v1__open_session_report__init)
        unsafe message.pointee.connection = self.connection
        unsafe message.pointee.wallet_id = arena.bytes(self.walletID)
        unsafe message.pointee.source = arena.text(self.source)
        unsafe message.pointee.since_ms = self.since.wireMilliseconds
        unsafe message.pointee.instructions = UInt32(clamping: self.instructions)
        unsafe message.pointee.app_version = arena.text("\(self.appVersion)")
        unsafe message.pointee.platform = self.platform.wire
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__OpenSessionReport) throws(FieldFault) {
        self.init(
            connection: unsafe message.connection,
            walletID: try unsafe message.wallet_id.fixed(.walletID),
            source: try unsafe text(message.source, .source, in: 0...Self.longestSource),
            since: try unsafe Timestamp(wireMilliseconds: message.since_ms, .now),
            instructions: unsafe Int(message.instructions),
            appVersion: try unsafe Wire.appVersion(message.app_version),
            platform: try unsafe Platform(wire: message.platform)
        )
    }
}

extension ReloadedPart {
    private static let most = 16
    private static let longestName = 64

    /// The message of all parts in the arena.
    static func placed(
        _ parts: [ReloadedPart],
        in arena: borrowing Arena
    ) -> UnsafeMutablePointer<Remotepin__V1__ReloadReport> {
        let message = unsafe arena.place(remotepin__v1__reload_report__init)
        let list = unsafe arena.pieces(of: UnsafeMutablePointer<Remotepin__V1__ReloadedPart>?.self, count: parts.count)
        for (index, part) in parts.enumerated() {
            let placed = unsafe arena.place(remotepin__v1__reloaded_part__init)
            unsafe placed.pointee.name = arena.text(part.name)
            unsafe placed.pointee.reloaded = part.problem == nil ? 1 : 0
            unsafe placed.pointee.reason = arena.text(AdminFailure.shortened(part.problem ?? ""))
            unsafe list[index] = unsafe placed
        }
        unsafe message.pointee.parts = unsafe list
        unsafe message.pointee.n_parts = parts.count
        return unsafe message
    }

    /// Copies the parts out of the tree.
    static func list(copying message: Remotepin__V1__ReloadReport) throws(FieldFault) -> [ReloadedPart] {
        guard unsafe (1...Self.most).contains(message.n_parts) else { throw .invalid(.result) }
        var parts: [ReloadedPart] = []
        for index in unsafe 0..<message.n_parts {
            let part = try unsafe required(message.parts[index], .result).pointee
            let name = try unsafe text(part.name, .result, in: 1...Self.longestName)
            let reason = try unsafe text(part.reason, .reason, in: 0...AdminFailure.longestSentence)
            parts.append(ReloadedPart(name, problem: unsafe part.reloaded != 0 ? nil : reason))
        }
        return parts
    }
}

extension Platform? {
    /// A platform, or none where none is said.
    fileprivate init(wire: Remotepin__V1__Platform) throws(FieldFault) {
        self = wire == REMOTEPIN__V1__PLATFORM__PLATFORM_UNSPECIFIED ? nil : try Platform(wire: wire)
    }
}
