internal import DeviceInterface
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC9.4: local data is deleted immediately.
///
/// The wallet id and the hardware key are kept until the server has confirmed the report.
extension WalletEngine {
    func wipe() async throws -> Answer {
        self.lock()
        (self.attemptHint, self.pinState) = (nil, nil)
        let walletID = self.store.state.registration?.walletID ?? self.store.state.unreportedWipe
        // After a restore to another phone, the wallet cannot report the wipe. The user can revoke it on the server
        // with the deletion code.
        let pending = self.device.hasKey ? walletID : nil
        // A single write makes everything unreadable, because the access data cannot be opened without the slots.
        try self.store.save(LocalState(unreportedWipe: pending))
        // Only do this after that write. As long as the old state exists, the item may be the only way to open it.
        try? self.removeItems(except: nil)
        try self.store.removeAccessData()
        self.store.forgetServerState()
        guard pending != nil else {
            try? await self.device.deleteKey()
            return .wiped(serverTold: walletID == nil)
        }
        // The server's answers to the report are cached as well, so drop those too.
        defer { self.store.forgetServerState() }
        do {
            try await self.completePendingWipe()
            return .wiped(serverTold: true)
        } catch {
            return .wiped(serverTold: false)
        }
    }

    /// Deletes a wallet whose files are unusable.
    static func reset(_ disk: any LocalDisk, _ device: any Device) async throws {
        for name in try device.keychain.names() where StoredID<KeychainItemKind>.belongsToWallet(name) {
            try device.keychain.remove(name)
        }
        try LocalStore.removeAll(disk)
        try await device.deleteKey()
    }

    /// Reports a pending wipe when the app is launched, if the server can be reached.
    func tryCompletingPendingWipe() async {
        guard self.store.state.unreportedWipe != nil else { return }
        // If this fails, we try again at the next launch.
        try? await self.completePendingWipe()
    }

    /// Reports a pending wipe and deletes the hardware key, since a new enrollment creates its own.
    ///
    /// If the connection or session ends before the server has answered, the report is repeated once on a new
    /// connection.
    func completePendingWipe() async throws {
        guard let pending = self.store.state.unreportedWipe?.value else { return }
        guard self.device.hasKey else { return try self.change { $0.unreportedWipe = nil } }
        if try await self.reportWipe(of: pending) != nil, let failure = try await self.reportWipe(of: pending) {
            throw failure
        }
        try self.change { $0.unreportedWipe = nil }
        try? await self.device.deleteKey()
    }

    /// Reports the wipe once.
    ///
    /// Returns nil if nothing is left to report, or a failure that might be resolved by using a new connection.
    private func reportWipe(of walletID: WalletID) async throws -> Failure? {
        let connection: WalletConnection
        switch try await self.openSession(for: walletID) {
        case .active(let opened):
            connection = opened
        case .revoked(let revocation) where revocation.reason == .solution:
            // The solution might be restored later, and this wallet along with it.
            throw Failure.revoked(revocation)
        case .revoked, .notKnown:
            // The server has no wallet that could still be revoked with this key.
            await self.disconnect()
            return nil
        }
        let result: CallResult
        do {
            result = try await self.call(.reportWipe, on: connection)
        } catch .lost {
            return Failure(.lost, notCounted: true)
        }
        await self.disconnect()
        switch result {
        case .reportWipe: return nil
        case .refused(let refusal) where refusal.reason == .sessionRequired: return Failure(refusal)
        case .refused(let refusal): throw Failure(refusal)
        case .hello, .beginEnrollment, .register, .openSession, .instruct, .judged, .revokeWithCode, .confirmShares:
            throw Failure.local(.replyUnexpected)
        }
    }
}
