internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

// What operators' commands and their answers are made of.

extension Arena {
    /// A repeated field of wallet ids.
    borrowing func list(_ wallets: some Collection<WalletID>) -> UnsafeMutablePointer<ProtobufCBinaryData> {
        let list = unsafe self.pieces(of: ProtobufCBinaryData.self, count: wallets.count)
        for (index, wallet) in wallets.enumerated() { unsafe list[index] = unsafe self.bytes(wallet) }
        return unsafe list
    }

    /// A repeated field of platforms, in their order.
    borrowing func list(_ platforms: Set<Platform>) -> UnsafeMutablePointer<Remotepin__V1__Platform> {
        let list = unsafe self.pieces(of: Remotepin__V1__Platform.self, count: platforms.count)
        for (index, platform) in Platform.allCases.filter(platforms.contains).enumerated() {
            unsafe list[index] = platform.wire
        }
        return unsafe list
    }

    /// A repeated field of rules.
    borrowing func list(
        _ rules: [UpdateRule]
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<Remotepin__V1__UpdateRule>?> {
        let list = unsafe self.pieces(of: UnsafeMutablePointer<Remotepin__V1__UpdateRule>?.self, count: rules.count)
        for (index, rule) in rules.enumerated() { unsafe list[index] = rule.placed(in: self) }
        return unsafe list
    }
}

/// A repeated field of different wallet ids, at least one.
func walletIDs(
    _ list: UnsafeMutablePointer<ProtobufCBinaryData>?,
    _ count: Int,
    atMost most: Int
) throws(FieldFault) -> [WalletID] {
    guard (1...most).contains(count), let list = unsafe list else { throw .invalid(.walletIDs) }
    var wallets: [WalletID] = []
    wallets.reserveCapacity(count)
    for index in 0..<count { wallets.append(try unsafe list[index].fixed(.walletIDs)) }
    guard Set(wallets).count == count else { throw .invalid(.walletIDs) }
    return wallets
}

/// A repeated field of different platforms, at least one.
func platforms(_ list: UnsafeMutablePointer<Remotepin__V1__Platform>?, _ count: Int) throws(FieldFault) -> Set<Platform>
{
    guard (1...Platform.allCases.count).contains(count), let list = unsafe list else { throw .invalid(.platforms) }
    var platforms: Set<Platform> = []
    for index in 0..<count { platforms.insert(try unsafe Platform(wire: list[index])) }
    guard platforms.count == count else { throw .invalid(.platforms) }
    return platforms
}

/// A repeated field of rules, none or more.
func updateRules(
    _ list: UnsafeMutablePointer<UnsafeMutablePointer<Remotepin__V1__UpdateRule>?>?,
    _ count: Int
) throws(FieldFault) -> [UpdateRule] {
    guard count <= UpdateRule.most else { throw .invalid(.rules) }
    var rules: [UpdateRule] = []
    for index in 0..<count { rules.append(try unsafe UpdateRule(copying: required(list?[index], .rules).pointee)) }
    return rules
}

extension ProtobufCBinaryData {
    /// A recovery code as a wallet would send it.
    func recoveryCode() throws(FieldFault) -> RecoveryCode {
        guard let code = try unsafe RecoveryCode(self.copied(.recoveryCode, in: RecoveryCode.allowedByteCounts)) else {
            throw .invalid(.recoveryCode)
        }
        return code
    }
}

extension Platform {
    var wire: Remotepin__V1__Platform {
        switch self {
        case .android: REMOTEPIN__V1__PLATFORM__PLATFORM_ANDROID
        case .iOS: REMOTEPIN__V1__PLATFORM__PLATFORM_IOS
        }
    }

    init(wire: Remotepin__V1__Platform) throws(FieldFault) {
        switch wire {
        case REMOTEPIN__V1__PLATFORM__PLATFORM_ANDROID: self = .android
        case REMOTEPIN__V1__PLATFORM__PLATFORM_IOS: self = .iOS
        default: throw .invalid(.platform)
        }
    }
}

extension FeatureFlag {
    var wire: Remotepin__V1__FlagName {
        switch self {
        case .safeBiometricUnlock: REMOTEPIN__V1__FLAG_NAME__FLAG_NAME_SAFE_BIOMETRIC_UNLOCK
        }
    }

    init(wire: Remotepin__V1__FlagName) throws(FieldFault) {
        switch wire {
        case REMOTEPIN__V1__FLAG_NAME__FLAG_NAME_SAFE_BIOMETRIC_UNLOCK: self = .safeBiometricUnlock
        default: throw .invalid(.flag)
        }
    }
}

extension Rollout {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__Rollout> {
        let message = unsafe arena.place(remotepin__v1__rollout__init)
        switch self {
        case .off: unsafe message.pointee.kind = REMOTEPIN__V1__ROLLOUT__KIND__KIND_OFF
        case .on: unsafe message.pointee.kind = REMOTEPIN__V1__ROLLOUT__KIND__KIND_ON
        case .wallets(let wallets):
            unsafe message.pointee.kind = REMOTEPIN__V1__ROLLOUT__KIND__KIND_WALLETS
            let sorted = wallets.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            unsafe message.pointee.wallet_ids = arena.list(sorted)
            unsafe message.pointee.n_wallet_ids = wallets.count
        case .percentage(let percentage):
            unsafe message.pointee.kind = REMOTEPIN__V1__ROLLOUT__KIND__KIND_PERCENTAGE
            unsafe message.pointee.percentage = UInt32(clamping: percentage)
        }
        return unsafe message
    }

    /// Copies the message out of the tree; a list or a percentage beside a kind that has none is refused.
    init(copying message: Remotepin__V1__Rollout) throws(FieldFault) {
        try unsafe refuseUnknownFields(message.base)
        let kind = unsafe message.kind
        let hasList = kind == REMOTEPIN__V1__ROLLOUT__KIND__KIND_WALLETS
        let hasPercentage = kind == REMOTEPIN__V1__ROLLOUT__KIND__KIND_PERCENTAGE
        guard unsafe hasList || message.n_wallet_ids == 0, unsafe hasPercentage || message.percentage == 0 else {
            throw .invalid(.rollout)
        }
        switch kind {
        case REMOTEPIN__V1__ROLLOUT__KIND__KIND_OFF: self = .off
        case REMOTEPIN__V1__ROLLOUT__KIND__KIND_ON: self = .on
        case REMOTEPIN__V1__ROLLOUT__KIND__KIND_WALLETS:
            self = .wallets(
                Set(try unsafe walletIDs(message.wallet_ids, message.n_wallet_ids, atMost: Self.mostWallets))
            )
        case REMOTEPIN__V1__ROLLOUT__KIND__KIND_PERCENTAGE: self = .percentage(unsafe Int(message.percentage))
        default: throw .invalid(.rollout)
        }
        guard self.isAllowed else { throw .invalid(.rollout) }
    }
}

extension UpdateRule {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__UpdateRule> {
        let message = unsafe arena.place(remotepin__v1__update_rule__init)
        if let from { unsafe message.pointee.from = arena.text("\(from)") }
        if let below { unsafe message.pointee.below = arena.text("\(below)") }
        switch self.word {
        case .ok: unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_OK
        case .notify: unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_NOTIFY
        case .recommend: unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_RECOMMEND
        case .warn(let until):
            unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_WARN
            unsafe message.pointee.until_ms = until.wireMilliseconds
        case .block(let updateAvailable):
            unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_BLOCK
            unsafe message.pointee.update_available = updateAvailable ? 1 : 0
        }
        return unsafe message
    }

    /// Copies the message out of the tree; a time or an update beside a word that has none is refused.
    init(copying message: Remotepin__V1__UpdateRule) throws(FieldFault) {
        try unsafe refuseUnknownFields(message.base)
        let kind = unsafe message.kind
        let warns = kind == REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_WARN
        let blocks = kind == REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_BLOCK
        guard unsafe warns || message.until_ms == 0, unsafe blocks || message.update_available == 0 else {
            throw .invalid(.rules)
        }
        let word: Word
        switch kind {
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_OK: word = .ok
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_NOTIFY: word = .notify
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_RECOMMEND: word = .recommend
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_WARN:
            word = .warn(until: try unsafe Timestamp(wireMilliseconds: message.until_ms, .warnUntil))
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_BLOCK:
            word = unsafe .block(updateAvailable: message.update_available != 0)
        default: throw .invalid(.rules)
        }
        let from = try unsafe Self.version(message.from)
        let below = try unsafe Self.version(message.below)
        guard let rule = UpdateRule(from: from, below: below, word) else { throw .invalid(.versionRange) }
        self = rule
    }

    private static func version(_ pointer: UnsafeMutablePointer<CChar>?) throws(FieldFault) -> AppVersion? {
        let text = try unsafe text(pointer, .versionRange, in: 0...32)
        if text.isEmpty { return nil }
        guard let version = AppVersion(text) else { throw .invalid(.versionRange) }
        return version
    }
}

extension DeniedName {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__DeniedName> {
        let message = unsafe arena.place(remotepin__v1__denied_name__init)
        switch self {
        case .code(let code):
            unsafe message.pointee.name_case = REMOTEPIN__V1__DENIED_NAME__NAME_RECOVERY_CODE
            unsafe message.pointee.recovery_code = arena.bytes(code.bytes)
        case .mac(let mac):
            unsafe message.pointee.name_case = REMOTEPIN__V1__DENIED_NAME__NAME_MAC
            unsafe message.pointee.mac = arena.bytes(mac)
        }
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: UnsafeMutablePointer<Remotepin__V1__DeniedName>) throws(FieldFault) {
        try unsafe refuseUnknownFields(message.pointee.base)
        switch unsafe message.pointee.name_case {
        case REMOTEPIN__V1__DENIED_NAME__NAME_RECOVERY_CODE:
            self = .code(try unsafe message.pointee.recovery_code.recoveryCode())
        case REMOTEPIN__V1__DENIED_NAME__NAME_MAC:
            self = .mac(try unsafe message.pointee.mac.fixed(.mac))
        default:
            throw .missing(.deniedEntry)
        }
    }
}
