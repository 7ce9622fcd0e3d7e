internal import DeviceInterface
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC9.4: what is on the device goes at once; wallet id and hardware key stay until the server has answered.
extension WalletEngine {
    func wipe() async throws(Failure) -> Answer {
        self.lock()
        let walletID = self.store.state.registration?.walletID ?? self.store.state.unreportedWipe
        // Restored to another phone, it is nobody's to report: what the server holds ends with the deletion code.
        let owed = self.device.hasKey ? walletID : nil
        // One write makes everything unreadable: with the slots gone nothing opens the access data.
        try self.storing { store throws(StorageError) in
            try store.save(LocalState(unreportedWipe: owed))
        }
        // Only now: as long as the state stands, the item may be all that opens it.
        try? self.removeItems(except: nil)
        try self.storing { store throws(StorageError) in
            try store.removeAccessData()
            store.forgetServerState()
        }
        guard owed != nil else {
            try? await self.device.deleteKey()
            return .wiped(serverTold: walletID == nil)
        }
        // It speaks again while it is told, and of what it says nothing stays either.
        defer { self.store.forgetServerState() }
        do throws(Failure) {
            try await self.completePendingWipe()
            return .wiped(serverTold: true)
        } catch {
            return .wiped(serverTold: false)
        }
    }

    /// At a launch: tells the server of a wipe that it could not be told of, if it can be told now.
    func tryCompletingPendingWipe() async {
        guard self.store.state.unreportedWipe != nil else { return }
        // Whatever stands in the way now, the next launch tries again.
        try? await self.completePendingWipe()
    }

    /// Tells the server of a wipe that is still owed, and forgets the hardware key; a new enrollment needs its place.
    ///
    /// A connection that ended, or its session alone, is not the server's word: it is told once more on a new one.
    func completePendingWipe() async throws(Failure) {
        guard let owed = self.store.state.unreportedWipe?.value else { return }
        guard self.device.hasKey else { return try self.change { $0.unreportedWipe = nil } }
        if try await self.reportWipe(of: owed) != nil, let failure = try await self.reportWipe(of: owed) {
            throw failure
        }
        try self.change { $0.unreportedWipe = nil }
        try? await self.device.deleteKey()
    }

    /// Tells the server once; what a new connection may mend is returned, and nil where there is nothing more to tell.
    private func reportWipe(of owed: WalletID) async throws(Failure) -> Failure? {
        let connection: WalletConnection
        switch try await self.openSession(for: owed) {
        case .active(let opened):
            connection = opened
        case .revoked(let revocation) where revocation.reason == .solution:
            // The solution may be restored, and this wallet would be back with it.
            throw .revoked(revocation)
        case .revoked, .notKnown:
            // There is nothing left at the server that this key could end.
            await self.disconnect()
            return nil
        }
        let result: CallResult
        do throws(CallChannelError) {
            result = try await self.call(.reportWipe, on: connection)
        } catch .lost {
            return Failure(.lost, notCounted: true)
        } catch {
            throw Failure(error, notCounted: true)
        }
        await self.disconnect()
        guard case .refused(let refusal) = result else { return nil }
        guard refusal.reason == .sessionRequired else { throw Failure(refusal) }
        return Failure(refusal)
    }
}
