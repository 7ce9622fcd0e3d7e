internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension AdminResult {
    /// Makes it the response's result.
    func place(in root: UnsafeMutablePointer<Remotepin__V1__AdminResponse>, _ arena: borrowing Arena) {
        switch self {
        case .clockAdvanced(let now):
            let message = unsafe arena.place(remotepin__v1__advance_clock_response__init)
            unsafe message.pointee.now_ms = now.wireMilliseconds
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_ADVANCE_CLOCK
            unsafe root.pointee.advance_clock = unsafe message
        case .wallet(let report):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_WALLET
            unsafe root.pointee.wallet = report.placed(in: arena)
        case .walletsRevoked(let now, let before):
            let message = unsafe arena.place(remotepin__v1__revoke_wallets_response__init)
            unsafe message.pointee.revoked = UInt32(clamping: now)
            unsafe message.pointee.already_revoked = UInt32(clamping: before)
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_REVOKE_WALLETS
            unsafe root.pointee.revoke_wallets = unsafe message
        case .recoveryCodeRevoked(let revocation):
            let message = unsafe arena.place(remotepin__v1__revoke_recovery_code_response__init)
            unsafe message.pointee.entry = revocation.entry.placed(in: arena)
            unsafe message.pointee.already_denied = revocation.wasDenied ? 1 : 0
            unsafe message.pointee.revoked = UInt32(clamping: revocation.revoked)
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_REVOKE_RECOVERY_CODE
            unsafe root.pointee.revoke_recovery_code = unsafe message
        case .solution(let isRevoked, let changed):
            let message = unsafe arena.place(remotepin__v1__solution_report__init)
            unsafe message.pointee.revoked = isRevoked ? 1 : 0
            unsafe message.pointee.changed = changed ? 1 : 0
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_SOLUTION
            unsafe root.pointee.solution = unsafe message
        case .deniedPage(let page):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_DENIED_PAGE
            unsafe root.pointee.denied_page = page.placed(in: arena)
        case .denied(let report):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_DENIED
            unsafe root.pointee.denied = report.placed(in: arena)
        case .flags(let flags):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_FLAGS
            unsafe root.pointee.flags = FlagReport.placed(flags, in: arena)
        case .updatePolicy(let report):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_UPDATE_POLICY
            unsafe root.pointee.update_policy = report.placed(in: arena)
        case .status(let report):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_STATUS
            unsafe root.pointee.status = report.placed(in: arena)
        case .walletPage(let page):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_WALLET_PAGE
            unsafe root.pointee.wallet_page = page.placed(in: arena)
        case .sessionPage(let page):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_SESSION_PAGE
            unsafe root.pointee.session_page = page.placed(in: arena)
        case .reloaded(let parts):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_RELOAD
            unsafe root.pointee.reload = ReloadedPart.placed(parts, in: arena)
        case .logLevel(let level, let changed):
            let message = unsafe arena.place(remotepin__v1__log_level_report__init)
            unsafe message.pointee.level = level.wire
            unsafe message.pointee.changed = changed ? 1 : 0
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_LOG_LEVEL
            unsafe root.pointee.log_level = unsafe message
        case .upkeep(let report):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_UPKEEP
            unsafe root.pointee.upkeep = report.placed(in: arena)
        case .vaultKeys(let versions):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_VAULT_KEYS
            unsafe root.pointee.vault_keys = VaultKeyVersion.placed(versions, in: arena)
        case .failed(let failure):
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_ERROR
            unsafe root.pointee.error = failure.placed(in: arena)
        }
    }

    /// Copies the response's result out of the tree.
    init(copying root: UnsafeMutablePointer<Remotepin__V1__AdminResponse>) throws(FieldFault) {
        switch unsafe root.pointee.result_case {
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_ADVANCE_CLOCK:
            let now = unsafe root.pointee.advance_clock.pointee.now_ms
            self = .clockAdvanced(now: try Timestamp(wireMilliseconds: now, .now))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_WALLET:
            self = .wallet(try unsafe WalletReport(copying: root.pointee.wallet.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_REVOKE_WALLETS:
            let message = unsafe root.pointee.revoke_wallets.pointee
            self = unsafe .walletsRevoked(now: Int(message.revoked), before: Int(message.already_revoked))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_REVOKE_RECOVERY_CODE:
            let message = unsafe root.pointee.revoke_recovery_code.pointee
            self = .recoveryCodeRevoked(
                RecoveryCodeRevocation(
                    entry: try unsafe DeniedEntry(copying: required(message.entry, .deniedEntry).pointee),
                    wasDenied: unsafe message.already_denied != 0,
                    revoked: unsafe Int(message.revoked)
                )
            )
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_SOLUTION:
            let message = unsafe root.pointee.solution.pointee
            self = unsafe .solution(isRevoked: message.revoked != 0, changed: message.changed != 0)
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_DENIED_PAGE:
            self = .deniedPage(try unsafe DeniedPage(copying: root.pointee.denied_page.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_DENIED:
            self = .denied(try unsafe DeniedReport(copying: root.pointee.denied.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_FLAGS:
            self = .flags(try unsafe FlagReport.list(copying: root.pointee.flags.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_UPDATE_POLICY:
            self = .updatePolicy(try unsafe UpdatePolicyReport(copying: root.pointee.update_policy.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_STATUS:
            self = .status(try unsafe StatusReport(copying: root.pointee.status.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_WALLET_PAGE:
            self = .walletPage(try unsafe WalletPage(copying: root.pointee.wallet_page.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_SESSION_PAGE:
            self = .sessionPage(try unsafe SessionPage(copying: root.pointee.session_page.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_RELOAD:
            self = .reloaded(try unsafe ReloadedPart.list(copying: root.pointee.reload.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_LOG_LEVEL:
            let message = unsafe root.pointee.log_level.pointee
            self = .logLevel(try unsafe LogLevel(wire: message.level), changed: unsafe message.changed != 0)
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_UPKEEP:
            self = .upkeep(try unsafe UpkeepReport(copying: root.pointee.upkeep.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_VAULT_KEYS:
            self = .vaultKeys(try unsafe VaultKeyVersion.list(copying: root.pointee.vault_keys.pointee))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_ERROR:
            self = .failed(try unsafe AdminFailure(copying: root.pointee.error.pointee))
        default:
            throw .missing(.result)
        }
    }
}
