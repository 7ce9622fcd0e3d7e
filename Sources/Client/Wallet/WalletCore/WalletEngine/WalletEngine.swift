internal import DeviceInterface
internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// The data and devices of a wallet: its files, its phone, its connection and, while unlocked, its keys.
///
/// This executes the effects requested by the flows, but does not contain any of their rules. It is not shared: it
/// belongs to one ``Wallet``, which requests one effect at a time. Its methods throw any error, which ``perform(_:)``
/// translates to a `Failure`.
///
/// Invariant (docs/protocol.md): only a share that opens the PIN slot proves `valid`. Without that proof, no reply can
/// make the engine delete or rewrite the registration, slots or access data; unproven information from the server is
/// only stored in ``CachedServerState``.
final class WalletEngine {
    let store: LocalStore
    let device: any Device
    let dialer: any ServerDialer
    let clock: any WallClock
    let appVersion: AppVersion
    let osVersion: DeviceText
    let settings: Wallet.Settings

    var connection: WalletConnection?
    /// Nil while locked.
    var unlocked: UnlockedKeys?
    /// The pair for a new PIN whose ChangePin may have been sent, with the entry of that PIN.
    var change: (attemptID: AttemptID, pairID: PINKeyID)?
    /// The last PIN entry that was sent but got no answer; the server may have counted it, even if later tries fail.
    var unanswered: AttemptID?
    /// The findings about receipts that have not been reported yet.
    var findings: [Tampering] = []
    /// The operation in progress in the host application.
    var hostSession: HostSession?

    /// Removes keychain items left by an interrupted wipe.
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

    /// Executes an effect that a flow requested.
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
        case .checkPIN(let entry): return try await self.checkPIN(entry)
        case .enroll(let entry): return try await self.enroll(entry)
        case .changePIN(let old, let new): return try await self.changePIN(from: old, to: new)
        case .showDeletionCode(let entry): return try await self.showDeletionCode(entry)
        case .wipe: return try await self.wipe()
        case .keepProgress(let progress): return try self.saveProgress(progress)
        case .prompt(let prompt, let presentation): return try await self.prompt(prompt, presentation)
        case .unlockWithBiometrics(let presentation): return try await self.unlockWithBiometrics(presentation)
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

    /// The current facts that the flows may use.
    func facts() -> Snapshot {
        var facts = Snapshot(now: self.clock.now(), appVersion: self.appVersion)
        facts.isRooted = self.device.isRooted
        let registration = self.store.state.registration
        facts.setup = registration?.progress.progress ?? .notStarted
        facts.hasPID = registration?.hasPID ?? false
        facts.biometricMode = registration?.biometricMode ?? .off
        facts.unlockMethod = registration?.biometrics?.method.method ?? .biometric
        facts.offersDeletionCode = self.store.serverState.lastFeatures?.deletionCode ?? true
        facts.wantsSafeMode = self.store.serverState.lastFeatures?.safeBiometricUnlock ?? false
        facts.hostSession = self.hostSession
        facts.linkBase = self.settings.linkBase
        facts.lockTimes = self.settings.lockTimes
        facts.isLocked = self.unlocked == nil
        facts.policy = self.store.serverState.attemptPolicy ?? .standard
        facts.lastRevocation = self.store.serverState.lastRevocation
        facts.lastUpdate = self.store.serverState.lastUpdate
        facts.deletionCode = self.unlocked?.accessData.deletionCode
        facts.server = self.dialer.address
        facts.platform = self.device.platform
        facts.biometrics = self.device.biometrics
        facts.hasPasscode = self.device.hasPasscode
        facts.attemptNotice = self.store.receipts.notice
        return facts
    }

    /// Drops the data key, the shares and an opened item; the next operation begins with a new
    /// session.
    func lock() {
        self.unlocked = nil
        self.change = nil
        self.connection?.endSession()
    }

    /// Opens the access data with the data key of an opened slot; unlocks the wallet, or updates an
    /// unlocked one.
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

    /// Records the progress of the setup; writing the state commits, and the code is removed after that.
    private func saveProgress(_ progress: SetupProgress) throws -> Answer {
        guard let stored = StoredProgress(progress), let registration = self.store.state.registration else {
            throw Failure.local(.notReady)
        }
        try self.change { $0.registration?.progress = stored }
        if stored == .done { try self.forgetWrittenDownCode(of: registration.walletID.value) }
        return .progressKept
    }

    /// Removes a deletion code that was written down from the access data; also completes an
    /// interrupted removal.
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

/// The keys of an unlocked wallet, held in memory only; wiped with the last reference.
final class UnlockedKeys {
    let dataKey: SecretBytes
    var accessData: AccessData
    /// Nil until a PIN was valid; a biometric unlock does not provide it.
    var unlockShare: Share?
    /// The share that will replace ``unlockShare``, from the same answer.
    ///
    /// Until the server confirms the replacement, new slots are sealed under both.
    var nextUnlockShare: Share?
    /// The server's half of the biometric slot's key, once it is proven: either it has opened that slot, or it was
    /// received on a connection on which an unlock share has opened a PIN slot.
    ///
    /// A slot created with a share from an impostor could never be opened again.
    var presenceShare: Share?
    /// The share that will replace ``presenceShare``, from the same session.
    var nextPresenceShare: Share?
    /// The pair of the last valid PIN or of the PIN that replaced it since; nil until a PIN was
    /// valid.
    var pairID: PINKeyID?
    /// The keychain item, if a prompt has opened it for the next operation.
    var item: OpenedItem?

    init(dataKey: consuming SecretBytes, accessData: AccessData) {
        self.dataKey = dataKey
        self.accessData = accessData
    }
}
