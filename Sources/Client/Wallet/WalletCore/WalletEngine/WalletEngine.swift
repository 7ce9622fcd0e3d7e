internal import DeviceInterface
internal import Secrets
internal import Vocabulary
internal import WalletFlows

/// A wallet's data and devices: its files, its phone, its connection and, while it is unlocked, its keys.
///
/// The engine executes the effects requested by the flows, but does not implement any of their rules. It belongs to a
/// single ``Wallet``, which requests one effect at a time. Its methods can throw any error; ``perform(_:)`` converts it
/// to a `Failure`.
///
/// Invariant (docs/protocol.md): `valid` is proven only by an unlock share that opens the PIN slot or, if that slot is
/// sealed under the keychain item, by one whose check value equals the stored one. Without that proof, no reply can
/// make the engine delete or rewrite the registration, slots or access data. Unproven information from the server is
/// stored only in ``CachedServerState``.
final class WalletEngine {
    let store: LocalStore
    let device: any Device
    let dialer: any ServerDialer
    let clock: any WallClock
    let appVersion: AppVersion
    let osVersion: DeviceText
    let settings: Wallet.Settings

    var connection: WalletConnection?
    /// Nil if the wallet is locked.
    var unlocked: UnlockedKeys?
    /// The pair for a new PIN whose ChangePin may have been sent, and the attempt id of that PIN's entry.
    var change: (attemptID: AttemptID, pairID: PINKeyID)?
    /// The last PIN entry that was sent but not answered.
    ///
    /// The server may have counted it, even if later tries fail.
    var unanswered: AttemptID?
    /// Findings from receipts that have not been reported yet.
    var findings: [Tampering] = []
    /// The state of the wallet's attempts that the server last stated, or nil after a right PIN.
    var pinState: PINState?
    /// The contradiction between the session's counts and the last receipt, until it was shown or a receipt arrived.
    var attemptHint: AttemptHint?
    /// The host application's operation in progress.
    var hostSession: HostSession?

    /// Creates the engine and removes keychain items left behind by an interrupted wipe.
    init(
        store: LocalStore,
        device: any Device,
        dialer: any ServerDialer,
        clock: any WallClock,
        settings: Wallet.Settings
    ) throws {
        guard let appVersion = AppVersion(device.appVersion), let osVersion = DeviceText(device.osVersion) else {
            throw WalletError.deviceProfile
        }
        self.store = store
        self.device = device
        self.dialer = dialer
        self.clock = clock
        self.appVersion = appVersion
        self.osVersion = osVersion
        self.settings = settings
        if store.state.registration == nil { try? self.cleanUpKeychain() }
    }

    /// Executes an effect requested by a flow.
    func perform(_ effect: Effect) async -> Answer {
        do {
            return try await self.answer(to: effect)
        } catch {
            let failure = Failure(error)
            if case .revoked(let revocation) = failure { self.store.remember { $0.lastRevocation = revocation } }
            return .failed(failure)
        }
    }

    private func answer(to effect: Effect) async throws -> Answer {
        switch effect {
        case .askUpdatePolicy: return try await self.askUpdatePolicy()
        case .askStatus: return try await self.askStatus()
        case .askPINState: return try await self.askPINState()
        case .checkPIN(let entry): return try await self.checkPIN(entry)
        case .enroll(let entry): return try await self.enroll(entry)
        case .changePIN(let old, let new): return try await self.changePIN(from: old, to: new)
        case .showDeletionCode(let entry): return try await self.showDeletionCode(entry)
        case .wipe: return try await self.wipe()
        case .keepProgress(let progress): return try self.saveProgress(progress)
        case .prompt(let prompt, let presentation): return try await self.prompt(prompt, presentation)
        case .unlockWithBiometrics(let presentation): return try await self.unlockWithBiometrics(presentation)
        case .confirmWithBiometrics(let presentation): return try await self.confirmWithBiometrics(presentation)
        case .enableBiometrics(let method): return try self.enableBiometrics(method)
        case .disableBiometrics: return try self.disableBiometrics()
        case .migrateBiometrics(let presentation): return try await self.migrateBiometrics(presentation)
        case .obtainPID: return .pid(await self.settings.issuer?.obtain())
        case .linkRecoveryCode(let entry, let code): return try await self.linkRecoveryCode(code, paidBy: entry)
        case .lock:
            self.lock()
            return .locked
        }
    }

    /// Returns a snapshot of the current state for the flows.
    func facts() -> Snapshot {
        var facts = Snapshot(now: self.clock.now(), uptime: self.device.uptime, appVersion: self.appVersion)
        facts.isRooted = self.device.isRooted
        let registration = self.store.state.registration
        facts.setup = registration?.progress.progress ?? .notStarted
        facts.hasPID = registration?.hasPID ?? false
        facts.biometricMode = registration?.biometricMode ?? .off
        facts.unlockMethod = registration?.biometrics?.method.method ?? .biometric
        facts.offersDeletionCode = self.store.serverState.lastFeatures?.deletionCode ?? true
        facts.wantsSafeMode = self.store.serverState.lastFeatures?.safeBiometricUnlock ?? false
        facts.hostAllowsPrompt = self.settings.confirmsWithPrompt
        facts.hostSession = self.hostSession
        facts.linkBase = self.settings.linkBase
        facts.lockTimes = self.settings.lockTimes
        facts.isLocked = self.unlocked == nil
        facts.pinState = self.pinState
        facts.policy = self.store.serverState.attemptPolicy ?? .standard
        facts.lastRevocation = self.store.serverState.lastRevocation
        facts.lastUpdate = self.store.serverState.lastUpdate
        facts.deletionCode = self.unlocked?.accessData.deletionCode
        facts.server = self.dialer.address
        facts.platform = self.device.platform
        facts.biometrics = self.device.biometrics
        facts.hasPasscode = self.device.hasPasscode
        facts.attemptNotice = self.attemptNotice
        return facts
    }

    /// Drops the data key, the shares and an opened item.
    ///
    /// The next operation will start a new session.
    func lock() {
        self.unlocked = nil
        self.change = nil
        self.connection?.endSession()
    }

    /// Opens the access data with the data key from an opened slot, then unlocks the wallet or updates it if it is
    /// already unlocked.
    func unlock(with dataKey: consuming SecretBytes, of walletID: WalletID) throws {
        guard let sealed = try self.store.accessData() else { throw Failure.local(.accessData) }
        let accessData: AccessData
        do {
            accessData = try AccessData(opening: sealed, under: dataKey, walletID: walletID)
        } catch {
            // The slot could be opened, so the key must be right.
            throw Failure.local(.accessData)
        }
        if let unlocked = self.unlocked {
            unlocked.accessData = accessData
        } else {
            self.unlocked = UnlockedKeys(dataKey: dataKey, accessData: accessData)
        }
    }

    /// Closes the connection, if one is open.
    func disconnect() async {
        guard let connection = self.connection else { return }
        self.connection = nil
        await connection.channel.close()
    }

    /// Records the progress of the setup.
    ///
    /// Writing the state commits it; the code is removed after that.
    private func saveProgress(_ progress: SetupProgress) throws -> Answer {
        guard let stored = StoredProgress(progress), let registration = self.store.state.registration else {
            throw Failure.local(.notReady)
        }
        try self.change { $0.registration?.progress = stored }
        if stored == .done { try self.forgetWrittenDownCode(of: registration.walletID.value) }
        return .progressKept
    }

    /// Removes a deletion code from the access data after it was written down.
    ///
    /// Also completes an interrupted removal.
    func forgetWrittenDownCode(of walletID: WalletID) throws {
        guard let unlocked = self.unlocked, unlocked.accessData.deletionCode != nil else { return }
        var accessData = unlocked.accessData
        accessData.deletionCode = nil
        try self.save(accessData, of: walletID)
    }

    /// Replaces the access data durably.
    func save(_ accessData: AccessData, of walletID: WalletID) throws {
        guard let unlocked = self.unlocked else { throw Failure.local(.notReady) }
        try self.store.saveAccessData(accessData.sealed(under: unlocked.dataKey, walletID: walletID))
        unlocked.accessData = accessData
    }

    /// Changes the state durably.
    func change(_ change: (inout LocalState) -> Void) throws { try self.store.change(change) }
}

/// The keys of an unlocked wallet.
///
/// They are held only in memory and wiped with the last reference.
final class UnlockedKeys {
    let dataKey: SecretBytes
    var accessData: AccessData
    /// Nil until a PIN has been valid.
    ///
    /// A biometric unlock does not provide it.
    var unlockShare: Share?
    /// The share that will replace ``unlockShare``, received with the same answer.
    ///
    /// Until the server confirms the replacement, new slots are sealed under both.
    var nextUnlockShare: Share?
    /// The server's half of the biometric slot's key, once it is proven.
    ///
    /// It is proven if it has opened that slot, or if an unlock share received on the same connection has opened a PIN
    /// slot. A slot created with an impostor's share could never be opened again.
    var presenceShare: Share?
    /// The share that will replace ``presenceShare``, received with the same session.
    var nextPresenceShare: Share?
    /// The pair of the last valid PIN or of a PIN that has replaced it since, or nil until a PIN has been valid.
    var pairID: PINKeyID?
    /// The keychain item, if a prompt has opened it for the next operation.
    var item: OpenedItem?

    init(dataKey: consuming SecretBytes, accessData: AccessData) {
        self.dataKey = dataKey
        self.accessData = accessData
    }
}
