internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension AdminCommand {
    /// Copies the request's command out of the tree.
    init(copying root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>) throws(FieldFault) {
        switch unsafe root.pointee.command_case {
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_ADVANCE_CLOCK:
            let message = unsafe root.pointee.advance_clock.pointee
            try unsafe refuseUnknownFields(message.base)
            let longest = Self.longestAdvance.wireMilliseconds
            self = .advanceClock(
                by: try unsafe Duration(wireMilliseconds: message.by_ms, .byMilliseconds, in: 1...longest)
            )
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_WALLET:
            let message = unsafe root.pointee.show_wallet.pointee
            try unsafe refuseUnknownFields(message.base)
            self = .showWallet(try unsafe message.wallet_id.fixed(.walletID))
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_LIST_FLAGS:
            try unsafe refuseUnknownFields(root.pointee.list_flags.pointee.base)
            self = .listFlags
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SET_FLAG:
            let message = unsafe root.pointee.set_flag.pointee
            try unsafe refuseUnknownFields(message.base)
            self = .setFlag(
                try unsafe FeatureFlag(wire: message.name),
                try unsafe Rollout(copying: required(message.rollout, .rollout).pointee)
            )
        default:
            self = try unsafe Self.revocation(copying: root)
        }
    }

    private static func revocation(
        copying root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>
    ) throws(FieldFault) -> AdminCommand {
        switch unsafe root.pointee.command_case {
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_REVOKE_WALLETS:
            let message = unsafe root.pointee.revoke_wallets.pointee
            try unsafe refuseUnknownFields(message.base)
            let wallets = try unsafe walletIDs(message.wallet_ids, message.n_wallet_ids, atMost: Self.mostWallets)
            return .revokeWallets(wallets)
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_REVOKE_RECOVERY_CODE:
            let message = unsafe root.pointee.revoke_recovery_code.pointee
            try unsafe refuseUnknownFields(message.base)
            return .revokeRecoveryCode(try unsafe message.recovery_code.recoveryCode())
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_REVOKE_SOLUTION:
            try unsafe refuseUnknownFields(root.pointee.revoke_solution.pointee.base)
            return .revokeSolution
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_RESTORE_SOLUTION:
            try unsafe refuseUnknownFields(root.pointee.restore_solution.pointee.base)
            return .restoreSolution
        default:
            return try unsafe self.denied(copying: root)
        }
    }

    private static func denied(
        copying root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>
    ) throws(FieldFault) -> AdminCommand {
        switch unsafe root.pointee.command_case {
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_LIST_DENIED:
            let message = unsafe root.pointee.list_denied.pointee
            try unsafe refuseUnknownFields(message.base)
            let limit = unsafe Int(message.limit)
            guard (1...Self.mostDenied).contains(limit) else { throw .invalid(.limit) }
            let after: RecoveryCodeMAC? = try unsafe message.after.isEmpty ? nil : message.after.fixed(.after)
            return .listDenied(after: after, limit: limit)
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_DENIED:
            let message = unsafe root.pointee.show_denied.pointee
            try unsafe refuseUnknownFields(message.base)
            return .showDenied(try unsafe DeniedName(copying: required(message.name, .deniedEntry)))
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_REMOVE_DENIED:
            let message = unsafe root.pointee.remove_denied.pointee
            try unsafe refuseUnknownFields(message.base)
            return .removeDenied(try unsafe DeniedName(copying: required(message.name, .deniedEntry)))
        default:
            return try unsafe self.updatePolicy(copying: root)
        }
    }

    private static func updatePolicy(
        copying root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>
    ) throws(FieldFault) -> AdminCommand {
        switch unsafe root.pointee.command_case {
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_UPDATE_POLICY:
            try unsafe refuseUnknownFields(root.pointee.show_update_policy.pointee.base)
            return .showUpdatePolicy
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SET_UPDATE_POLICY:
            let message = unsafe root.pointee.set_update_policy.pointee
            try unsafe refuseUnknownFields(message.base)
            return .setUpdatePolicy(
                try unsafe platforms(message.platforms, message.n_platforms),
                try unsafe updateRules(message.rules, message.n_rules)
            )
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_CLEAR_UPDATE_POLICY:
            let message = unsafe root.pointee.clear_update_policy.pointee
            try unsafe refuseUnknownFields(message.base)
            return .clearUpdatePolicy(try unsafe platforms(message.platforms, message.n_platforms))
        default:
            return try unsafe self.operation(copying: root)
        }
    }

    private static func operation(
        copying root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>
    ) throws(FieldFault) -> AdminCommand {
        switch unsafe root.pointee.command_case {
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SHOW_STATUS:
            try unsafe refuseUnknownFields(root.pointee.show_status.pointee.base)
            return .showStatus
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_LIST_WALLETS:
            let message = unsafe root.pointee.list_wallets.pointee
            try unsafe refuseUnknownFields(message.base)
            return .listWallets(
                try unsafe WalletFilter(copying: message),
                after: unsafe message.after == 0 ? nil : unsafe message.after,
                limit: try Self.limit(unsafe message.limit)
            )
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_LIST_SESSIONS:
            let message = unsafe root.pointee.list_sessions.pointee
            try unsafe refuseUnknownFields(message.base)
            let after = unsafe message.after
            return .listSessions(after: after == 0 ? nil : after, limit: try Self.limit(unsafe message.limit))
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_RELOAD:
            try unsafe refuseUnknownFields(root.pointee.reload.pointee.base)
            return .reload
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_SET_LOG_LEVEL:
            let message = unsafe root.pointee.set_log_level.pointee
            try unsafe refuseUnknownFields(message.base)
            let isAsked = unsafe message.level == REMOTEPIN__V1__LOG_LEVEL__LOG_LEVEL_UNSPECIFIED
            return .setLogLevel(isAsked ? nil : try unsafe LogLevel(wire: message.level))
        default:
            return try unsafe self.upkeep(copying: root)
        }
    }

    private static func limit(_ limit: UInt32) throws(FieldFault) -> Int {
        guard (1...Self.mostListed).contains(Int(limit)) else { throw .invalid(.limit) }
        return Int(limit)
    }
}
