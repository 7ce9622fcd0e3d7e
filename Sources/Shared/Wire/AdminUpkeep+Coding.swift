internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension AdminCommand {
    /// Makes it the request's command; one about upkeep.
    func placeUpkeep(in root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>, _ arena: borrowing Arena) {
        switch self {
        case .startBackup(let path):
            let message = unsafe arena.place(remotepin__v1__start_backup_request__init)
            unsafe message.pointee.path = arena.text(path)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_START_BACKUP
            unsafe root.pointee.start_backup = unsafe message
        case .rotateVault:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_ROTATE_VAULT
            unsafe root.pointee.rotate_vault = arena.place(remotepin__v1__rotate_vault_request__init)
        case .retireVault:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_RETIRE_VAULT
            unsafe root.pointee.retire_vault = arena.place(remotepin__v1__retire_vault_request__init)
        case .showUpkeep:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_UPKEEP
            unsafe root.pointee.show_upkeep = arena.place(remotepin__v1__show_upkeep_request__init)
        case .showVaultKeys:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_VAULT_KEYS
            unsafe root.pointee.show_vault_keys = arena.place(remotepin__v1__show_vault_keys_request__init)
        default:
            preconditionFailure("not about upkeep")
        }
    }

    /// Copies a request's command out of the tree, if it is about upkeep.
    static func upkeep(
        copying root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>
    ) throws(FieldFault) -> AdminCommand {
        switch unsafe root.pointee.command_case {
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_START_BACKUP:
            let message = unsafe root.pointee.start_backup.pointee
            try unsafe refuseUnknownFields(message.base)
            let path = try unsafe text(message.path, .path, in: 2...Self.longestPath)
            guard path.hasPrefix("/") else { throw .invalid(.path) }
            return .startBackup(path: path)
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_ROTATE_VAULT:
            try unsafe refuseUnknownFields(root.pointee.rotate_vault.pointee.base)
            return .rotateVault
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_RETIRE_VAULT:
            try unsafe refuseUnknownFields(root.pointee.retire_vault.pointee.base)
            return .retireVault
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_UPKEEP:
            try unsafe refuseUnknownFields(root.pointee.show_upkeep.pointee.base)
            return .showUpkeep
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_VAULT_KEYS:
            try unsafe refuseUnknownFields(root.pointee.show_vault_keys.pointee.base)
            return .showVaultKeys
        default:
            return .unknown
        }
    }
}

extension UpkeepState {
    fileprivate var wire: Remotepin__V1__UpkeepState {
        switch self {
        case .running: REMOTEPIN__V1__UPKEEP_STATE__UPKEEP_STATE_RUNNING
        case .done: REMOTEPIN__V1__UPKEEP_STATE__UPKEEP_STATE_DONE
        case .failed: REMOTEPIN__V1__UPKEEP_STATE__UPKEEP_STATE_FAILED
        }
    }

    fileprivate init(wire: Remotepin__V1__UpkeepState) throws(FieldFault) {
        guard let state = UpkeepState.allCases.first(where: { $0.wire == wire }) else { throw .invalid(.upkeepState) }
        self = state
    }
}

extension UpkeepReport {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__UpkeepReport> {
        let message = unsafe arena.place(remotepin__v1__upkeep_report__init)
        unsafe message.pointee.epoch = UInt32(clamping: self.epoch)
        if let backup { unsafe message.pointee.backup = backup.placed(in: arena) }
        if let reseal { unsafe message.pointee.reseal = reseal.placed(in: arena) }
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__UpkeepReport) throws(FieldFault) {
        self.init(
            epoch: unsafe Int(message.epoch),
            backup: try unsafe message.backup == nil ? nil : BackupReport(copying: message.backup.pointee),
            reseal: try unsafe message.reseal == nil ? nil : ResealReport(copying: message.reseal.pointee)
        )
    }
}

extension BackupReport {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__BackupReport> {
        let message = unsafe arena.place(remotepin__v1__backup_report__init)
        unsafe message.pointee.path = arena.text(self.path)
        unsafe message.pointee.state = self.state.wire
        unsafe message.pointee.pages_copied = UInt64(clamping: self.pagesCopied)
        unsafe message.pointee.pages = UInt64(clamping: self.pages)
        unsafe message.pointee.byte_count = UInt64(clamping: self.byteCount)
        unsafe message.pointee.taken_at_ms = self.takenAt?.wireMilliseconds ?? 0
        unsafe message.pointee.problem = arena.text(AdminFailure.shortened(self.problem ?? ""))
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__BackupReport) throws(FieldFault) {
        self.init(path: try unsafe text(message.path, .path, in: 1...AdminCommand.longestPath))
        self.state = try unsafe UpkeepState(wire: message.state)
        self.pagesCopied = unsafe Int(clamping: message.pages_copied)
        self.pages = unsafe Int(clamping: message.pages)
        self.byteCount = unsafe Int(clamping: message.byte_count)
        self.takenAt = try unsafe .ifAny(message.taken_at_ms, .takenAt)
        let problem = try unsafe text(message.problem, .problem, in: 0...AdminFailure.longestSentence)
        self.problem = problem.isEmpty ? nil : problem
    }
}

extension ResealReport {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__ResealReport> {
        let message = unsafe arena.place(remotepin__v1__reseal_report__init)
        unsafe message.pointee.version = self.version
        unsafe message.pointee.state = self.state.wire
        unsafe message.pointee.wallets_done = UInt64(clamping: self.walletsDone)
        unsafe message.pointee.wallets = UInt64(clamping: self.wallets)
        unsafe message.pointee.problem = arena.text(AdminFailure.shortened(self.problem ?? ""))
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__ResealReport) throws(FieldFault) {
        self.init(version: unsafe message.version)
        self.state = try unsafe UpkeepState(wire: message.state)
        self.walletsDone = unsafe Int(clamping: message.wallets_done)
        self.wallets = unsafe Int(clamping: message.wallets)
        let problem = try unsafe text(message.problem, .problem, in: 0...AdminFailure.longestSentence)
        self.problem = problem.isEmpty ? nil : problem
    }
}

extension VaultKeyVersion {
    /// More would be refused: small messages take more memory, against their bytes, than a frame's budget gives them.
    private static let most = 64

    /// The versions as one message in the arena.
    static func placed(
        _ all: [VaultKeyVersion],
        in arena: borrowing Arena
    ) -> UnsafeMutablePointer<Remotepin__V1__VaultKeysReport> {
        // More than a key file has ever had: a rotation a week for five years.
        let versions = all.suffix(Self.most)
        let message = unsafe arena.place(remotepin__v1__vault_keys_report__init)
        let list = unsafe arena.pieces(
            of: UnsafeMutablePointer<Remotepin__V1__VaultKeyVersion>?.self,
            count: versions.count
        )
        for (index, version) in versions.enumerated() {
            let piece = unsafe arena.place(remotepin__v1__vault_key_version__init)
            unsafe piece.pointee.version = version.version
            unsafe piece.pointee.active = version.isActive ? 1 : 0
            unsafe piece.pointee.values = UInt64(clamping: version.values)
            unsafe piece.pointee.active_since_ms = version.activeSince?.wireMilliseconds ?? 0
            unsafe piece.pointee.retirable = version.isRetirable ? 1 : 0
            unsafe list[index] = unsafe piece
        }
        unsafe message.pointee.versions = unsafe list
        unsafe message.pointee.n_versions = versions.count
        return unsafe message
    }

    /// Copies the versions out of the tree.
    static func list(copying message: Remotepin__V1__VaultKeysReport) throws(FieldFault) -> [VaultKeyVersion] {
        guard unsafe (1...Self.most).contains(message.n_versions), let list = unsafe message.versions else {
            throw .invalid(.keyVersions)
        }
        var versions: [VaultKeyVersion] = []
        for index in unsafe 0..<message.n_versions {
            let piece = try unsafe required(list[index], .keyVersions).pointee
            versions.append(
                VaultKeyVersion(
                    version: unsafe piece.version,
                    isActive: unsafe piece.active != 0,
                    values: unsafe Int(clamping: piece.values),
                    activeSince: try unsafe .ifAny(piece.active_since_ms, .startedAt),
                    isRetirable: unsafe piece.retirable != 0
                )
            )
        }
        return versions
    }
}
