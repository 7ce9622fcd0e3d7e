internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension WalletReport {
    private static let longestAppID = 255
    private static let longestEnvironment = 31
    private static let longestAttested = 8192

    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__WalletReport> {
        let message = unsafe arena.place(remotepin__v1__wallet_report__init)
        unsafe message.pointee.wallet_id = arena.bytes(self.walletID)
        unsafe message.pointee.now_ms = self.now.wireMilliseconds
        unsafe message.pointee.registered_at_ms = self.registeredAt.wireMilliseconds
        unsafe message.pointee.session_opened = self.sessionOpened ? 1 : 0
        unsafe message.pointee.last_session_ms = self.lastSession?.wireMilliseconds ?? 0
        unsafe message.pointee.open_connections = UInt32(clamping: self.openConnections)
        if let revoked {
            unsafe message.pointee.revoked = revoked.revocation.placed(in: arena)
            unsafe message.pointee.revoked_at_ms = revoked.at.wireMilliseconds
        }
        unsafe message.pointee.solution_revoked = self.solutionRevoked ? 1 : 0
        unsafe message.pointee.pin = self.pin.placed(in: arena)
        unsafe message.pointee.linked_to_recovery_code = self.isLinkedToRecoveryCode ? 1 : 0
        unsafe message.pointee.has_deletion_code = self.hasDeletionCode ? 1 : 0
        unsafe message.pointee.features = self.features.placed(in: arena)
        unsafe message.pointee.platform = self.app.platform.wire
        unsafe message.pointee.app_id = arena.text(self.app.id)
        unsafe message.pointee.environment = arena.text(self.app.environment)
        unsafe message.pointee.has_assertion_counter = self.assertionCounter == nil ? 0 : 1
        unsafe message.pointee.assertion_counter = self.assertionCounter ?? 0
        unsafe message.pointee.attested = arena.text(self.attested)
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__WalletReport) throws(FieldFault) {
        let lastSession = try unsafe Timestamp(wireMilliseconds: message.last_session_ms, .now)
        let revokedAt = try unsafe Timestamp(wireMilliseconds: message.revoked_at_ms, .revokedAt)
        var revoked: Ended?
        if let revocation = unsafe message.revoked {
            revoked = Ended(try unsafe Revocation(reading: MessageReader(revocation)), at: revokedAt)
        }
        self.init(
            walletID: try unsafe message.wallet_id.fixed(.walletID),
            now: try unsafe Timestamp(wireMilliseconds: message.now_ms, .now),
            registeredAt: try unsafe Timestamp(wireMilliseconds: message.registered_at_ms, .registeredAt),
            sessionOpened: unsafe message.session_opened != 0,
            lastSession: lastSession.milliseconds == 0 ? nil : lastSession,
            openConnections: unsafe Int(message.open_connections),
            revoked: revoked,
            solutionRevoked: unsafe message.solution_revoked != 0,
            pin: try unsafe PIN(copying: required(message.pin, .pinState).pointee),
            isLinkedToRecoveryCode: unsafe message.linked_to_recovery_code != 0,
            hasDeletionCode: unsafe message.has_deletion_code != 0,
            features: unsafe Features(reading: MessageReader(try required(message.features, .features))),
            app: App(
                platform: try unsafe Platform(wire: message.platform),
                id: try unsafe text(message.app_id, .appID, in: 0...Self.longestAppID),
                environment: try unsafe text(message.environment, .environment, in: 0...Self.longestEnvironment)
            ),
            assertionCounter: unsafe message.has_assertion_counter != 0 ? unsafe message.assertion_counter : nil,
            attested: try unsafe text(message.attested, .attested, in: 0...Self.longestAttested)
        )
    }
}

extension WalletReport.PIN {
    private static let mostFailures = 65_535

    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__PinReport> {
        let message = unsafe arena.place(remotepin__v1__pin_report__init)
        unsafe message.pointee.state = self.state.placed(in: arena)
        unsafe message.pointee.round = UInt32(clamping: self.round)
        unsafe message.pointee.failures = UInt32(clamping: self.failures)
        unsafe message.pointee.blocked_until_ms = self.blockedUntil?.wireMilliseconds ?? 0
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__PinReport) throws(FieldFault) {
        let round = unsafe Int(message.round)
        guard AttemptPolicy.allowedRounds.contains(round) else { throw .invalid(.round) }
        let failures = unsafe Int(message.failures)
        guard failures <= Self.mostFailures else { throw .invalid(.failures) }
        let blockedUntil = try unsafe Timestamp(wireMilliseconds: message.blocked_until_ms, .block)
        self.init(
            state: try unsafe PINState(reading: MessageReader(required(message.state, .pinState))),
            round: round,
            failures: failures,
            blockedUntil: blockedUntil.milliseconds == 0 ? nil : blockedUntil
        )
    }
}
