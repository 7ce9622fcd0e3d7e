internal import DeviceInterface
internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// What a wallet has in its keeping: its files, its device, its connection and, while unlocked, its keys.
///
/// It does what the flows ask for and holds no rule of them. Not shared: one ``Wallet`` owns it and asks for one thing
/// at a time.
///
/// Invariant (docs/protocol.md): only a share that opens the PIN slot proves `valid`. Without that proof no reply makes
/// it delete or rewrite registration, slots or access data; what the server merely says goes to ``CachedServerState``.
final class WalletEngine {
    let store: LocalStore
    let device: any Device
    let dialer: any ServerDialer
    let clock: any WallClock
    /// Nil where the device states a version that is none.
    let appVersion: AppVersion
    let osVersion: DeviceText
    let settings: Wallet.Settings

    var connection: WalletConnection?
    /// Nil while locked.
    var unlocked: UnlockedKeys?
    /// The pair made for a new PIN whose ChangePin may have been sent; kept as long as that entry of the PIN.
    var change: (attemptID: AttemptID, pairID: PINKeyID)?
    /// The entry of a PIN that was sent and not answered yet: it may have been counted, however often asking again fails.
    var unanswered: AttemptID?
    /// What the host application is in the middle of.
    var hostSession: HostSession?

    /// Removes what a wipe that was cut short has left in the keychain.
    init(
        store: LocalStore,
        device: any Device,
        dialer: any ServerDialer,
        clock: any WallClock,
        settings: Wallet.Settings
    ) throws(WalletError) {
        guard let appVersion = AppVersion(device.appVersion), let osVersion = DeviceText(device.osVersion) else {
            throw .deviceProfile
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

    /// Does what a flow asked for.
    func perform(_ effect: Effect) async -> Answer {
        do throws(Failure) {
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
        } catch {
            if case .revoked(let revocation) = error { self.store.remember { $0.lastRevocation = revocation } }
            return .failed(error)
        }
    }

    /// What the flows may know, as of now.
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
        return facts
    }

    /// Forgets the data key, the shares and an item that a prompt has opened; what follows begins with a new session.
    func lock() {
        self.unlocked = nil
        self.change = nil
        self.connection?.endSession()
    }

    /// A slot was opened: so are the access data, if the data key is theirs.
    func unlock(with dataKey: consuming SecretBytes, of walletID: WalletID) throws(Failure) {
        let sealed = try self.storing { store throws(StorageError) in try store.accessData() }
        guard let sealed, let accessData = try? AccessData(opening: sealed, under: dataKey, walletID: walletID) else {
            throw .local
        }
        if let unlocked = self.unlocked {
            unlocked.accessData = accessData
        } else {
            self.unlocked = UnlockedKeys(dataKey: dataKey, accessData: accessData)
        }
    }

    /// Ends the connection, if there is one.
    func disconnect() async {
        guard let connection = self.connection else { return }
        self.connection = nil
        await connection.channel.close()
    }

    /// Remembers how far the setup came; the state's write is the mark, the code's removal follows it.
    private func saveProgress(_ progress: SetupProgress) throws(Failure) -> Answer {
        guard let stored = StoredProgress(progress), let registration = self.store.state.registration else {
            throw .local
        }
        try self.change { $0.registration?.progress = stored }
        if stored == .done { try self.forgetWrittenDownCode(of: registration.walletID.value) }
        return .progressKept
    }

    /// Takes a deletion code that was written down out of the access data; also what a crash left of that.
    func forgetWrittenDownCode(of walletID: WalletID) throws(Failure) {
        guard let unlocked = self.unlocked, unlocked.accessData.deletionCode != nil else { return }
        var accessData = unlocked.accessData
        accessData.deletionCode = nil
        let sealed = accessData.sealed(under: unlocked.dataKey, walletID: walletID)
        try self.storing { store throws(StorageError) in try store.saveAccessData(sealed) }
        unlocked.accessData = accessData
    }

    /// Changes the state durably.
    func change(_ change: (inout LocalState) -> Void) throws(Failure) {
        try self.storing { store throws(StorageError) in try store.change(change) }
    }

    /// Does something to the files; what fails there is an error of the wallet's own.
    func storing<Result>(_ body: (LocalStore) throws(StorageError) -> Result) throws(Failure) -> Result {
        do throws(StorageError) {
            return try body(self.store)
        } catch {
            throw .local
        }
    }
}

/// What only an unlocked wallet has, in memory alone; wiped with the last reference.
final class UnlockedKeys {
    let dataKey: SecretBytes
    var accessData: AccessData
    /// Nil until a PIN was valid: a biometric alone brings none.
    var unlockShare: Share?
    /// The server's half of the biometric slot's key, proven: it has opened that slot, or came over a connection on which
    /// an unlock share has opened the other.
    ///
    /// A slot under a share that a liar made up would never open again.
    var presenceShare: Share?
    /// The pair whose PIN was valid last, or replaced that one since; nil until a PIN was.
    var pairID: PINKeyID?
    /// The keychain item, where a prompt has opened it for what follows.
    var item: OpenedItem?

    init(dataKey: consuming SecretBytes, accessData: AccessData) {
        self.dataKey = dataKey
        self.accessData = accessData
    }
}
