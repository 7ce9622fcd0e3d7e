internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension AdminCommand {
    /// Makes it the request's command; nothing where it is ``unknown``.
    func place(in root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>, _ arena: borrowing Arena) {
        switch self {
        case .advanceClock(let by):
            let message = unsafe arena.place(remotepin__v1__advance_clock_request__init)
            unsafe message.pointee.by_ms = by.wireMilliseconds
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_ADVANCE_CLOCK
            unsafe root.pointee.advance_clock = unsafe message
        case .showWallet(let wallet):
            let message = unsafe arena.place(remotepin__v1__show_wallet_request__init)
            unsafe message.pointee.wallet_id = arena.bytes(wallet)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_WALLET
            unsafe root.pointee.show_wallet = unsafe message
        case .revokeWallets, .revokeRecoveryCode, .revokeSolution, .restoreSolution:
            unsafe self.placeRevocation(in: root, arena)
        case .listDenied, .showDenied, .removeDenied:
            unsafe self.placeDenied(in: root, arena)
        case .listFlags:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_LIST_FLAGS
            unsafe root.pointee.list_flags = arena.place(remotepin__v1__list_flags_request__init)
        case .setFlag(let flag, let rollout):
            let message = unsafe arena.place(remotepin__v1__set_flag_request__init)
            unsafe message.pointee.name = flag.wire
            unsafe message.pointee.rollout = rollout.placed(in: arena)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SET_FLAG
            unsafe root.pointee.set_flag = unsafe message
        case .showUpdatePolicy, .setUpdatePolicy, .clearUpdatePolicy:
            unsafe self.placeUpdatePolicy(in: root, arena)
        case .showStatus, .listWallets, .listSessions, .reload, .setLogLevel:
            unsafe self.placeOperation(in: root, arena)
        case .startBackup, .rotateVault, .retireVault, .showUpkeep, .showVaultKeys:
            unsafe self.placeUpkeep(in: root, arena)
        case .unknown:
            break
        }
    }

    private func placeRevocation(
        in root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>,
        _ arena: borrowing Arena
    ) {
        switch self {
        case .revokeWallets(let wallets):
            let message = unsafe arena.place(remotepin__v1__revoke_wallets_request__init)
            unsafe message.pointee.wallet_ids = arena.list(wallets)
            unsafe message.pointee.n_wallet_ids = wallets.count
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_REVOKE_WALLETS
            unsafe root.pointee.revoke_wallets = unsafe message
        case .revokeRecoveryCode(let code):
            let message = unsafe arena.place(remotepin__v1__revoke_recovery_code_request__init)
            unsafe message.pointee.recovery_code = arena.bytes(code.bytes)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_REVOKE_RECOVERY_CODE
            unsafe root.pointee.revoke_recovery_code = unsafe message
        case .revokeSolution:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_REVOKE_SOLUTION
            unsafe root.pointee.revoke_solution = arena.place(remotepin__v1__revoke_solution_request__init)
        case .restoreSolution:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_RESTORE_SOLUTION
            unsafe root.pointee.restore_solution = arena.place(remotepin__v1__restore_solution_request__init)
        default:
            preconditionFailure("not a revocation")
        }
    }

    private func placeDenied(in root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>, _ arena: borrowing Arena) {
        switch self {
        case .listDenied(let after, let limit):
            let message = unsafe arena.place(remotepin__v1__list_denied_request__init)
            if let after { unsafe message.pointee.after = arena.bytes(after) }
            unsafe message.pointee.limit = UInt32(clamping: limit)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_LIST_DENIED
            unsafe root.pointee.list_denied = unsafe message
        case .showDenied(let name):
            let message = unsafe arena.place(remotepin__v1__show_denied_request__init)
            unsafe message.pointee.name = name.placed(in: arena)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_DENIED
            unsafe root.pointee.show_denied = unsafe message
        case .removeDenied(let name):
            let message = unsafe arena.place(remotepin__v1__remove_denied_request__init)
            unsafe message.pointee.name = name.placed(in: arena)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_REMOVE_DENIED
            unsafe root.pointee.remove_denied = unsafe message
        default:
            preconditionFailure("not about the deny list")
        }
    }

    private func placeOperation(
        in root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>,
        _ arena: borrowing Arena
    ) {
        switch self {
        case .showStatus:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_STATUS
            unsafe root.pointee.show_status = arena.place(remotepin__v1__show_status_request__init)
        case .listWallets(let filter, let after, let limit):
            let message = unsafe arena.place(remotepin__v1__list_wallets_request__init)
            unsafe message.pointee.after = after ?? 0
            unsafe message.pointee.limit = UInt32(clamping: limit)
            unsafe filter.place(in: message, arena)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_LIST_WALLETS
            unsafe root.pointee.list_wallets = unsafe message
        case .listSessions(let after, let limit):
            let message = unsafe arena.place(remotepin__v1__list_sessions_request__init)
            unsafe message.pointee.after = after ?? 0
            unsafe message.pointee.limit = UInt32(clamping: limit)
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_LIST_SESSIONS
            unsafe root.pointee.list_sessions = unsafe message
        case .reload:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_RELOAD
            unsafe root.pointee.reload = arena.place(remotepin__v1__reload_request__init)
        case .setLogLevel(let level):
            let message = unsafe arena.place(remotepin__v1__set_log_level_request__init)
            if let level { unsafe message.pointee.level = level.wire }
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SET_LOG_LEVEL
            unsafe root.pointee.set_log_level = unsafe message
        default:
            preconditionFailure("not about the server itself")
        }
    }

    private func placeUpdatePolicy(
        in root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>,
        _ arena: borrowing Arena
    ) {
        switch self {
        case .showUpdatePolicy:
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_UPDATE_POLICY
            unsafe root.pointee.show_update_policy = arena.place(remotepin__v1__show_update_policy_request__init)
        case .setUpdatePolicy(let platforms, let rules):
            let message = unsafe arena.place(remotepin__v1__set_update_policy_request__init)
            unsafe message.pointee.platforms = arena.list(platforms)
            unsafe message.pointee.n_platforms = platforms.count
            unsafe message.pointee.rules = arena.list(rules)
            unsafe message.pointee.n_rules = rules.count
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SET_UPDATE_POLICY
            unsafe root.pointee.set_update_policy = unsafe message
        case .clearUpdatePolicy(let platforms):
            let message = unsafe arena.place(remotepin__v1__clear_update_policy_request__init)
            unsafe message.pointee.platforms = arena.list(platforms)
            unsafe message.pointee.n_platforms = platforms.count
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_CLEAR_UPDATE_POLICY
            unsafe root.pointee.clear_update_policy = unsafe message
        default:
            preconditionFailure("not about the update policy")
        }
    }
}
