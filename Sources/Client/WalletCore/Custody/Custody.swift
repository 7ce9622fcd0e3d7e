internal import Devices
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
/// it delete or rewrite registration, slots or access data; what the server merely says goes to ``ServerWords``.
final class Custody {
    let store: LocalStore
    let device: any Device
    let dialer: any ServerDialer
    let clock: any WallClock
    /// Nil where the device states a version that is none.
    let appVersion: AppVersion
    let osVersion: DeviceText

    var link: Link?
    /// Nil while locked.
    var unlocked: Unlocked?
    /// The pair made for a new PIN whose ChangePin may have been sent; kept as long as that entry of the PIN.
    var change: (attemptID: AttemptID, pairID: PINKeyID)?

    init(
        store: LocalStore,
        device: any Device,
        dialer: any ServerDialer,
        clock: any WallClock
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
            case .keepProgress(let progress): return try self.keep(progress)
            case .prompt, .unlockWithBiometrics, .enableBiometrics, .disableBiometrics, .migrateBiometrics, .obtainPID,
                .linkRecoveryCode:
                throw .local
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
    func facts() -> Facts {
        var facts = Facts(now: self.clock.now(), appVersion: self.appVersion)
        facts.isRooted = self.device.isRooted
        facts.setup = self.store.state.registration?.progress.progress ?? .notStarted
        facts.isLocked = self.unlocked == nil
        facts.policy = self.store.words.attemptPolicy ?? .standard
        facts.lastRevocation = self.store.words.lastRevocation
        facts.lastUpdate = self.store.words.lastUpdate
        facts.deletionCode = self.unlocked?.accessData.deletionCode
        facts.server = self.dialer.address
        facts.platform = self.device.platform
        facts.biometrics = self.device.biometrics
        facts.hasPasscode = self.device.hasPasscode
        return facts
    }

    /// Forgets the data key and the shares.
    func lock() {
        self.unlocked = nil
        self.change = nil
    }

    /// Ends the connection, if there is one.
    func hangUp() async {
        guard let link = self.link else { return }
        self.link = nil
        await link.line.close()
    }

    /// Remembers how far the setup came; the state's write is the mark, the code's removal follows it.
    private func keep(_ progress: SetupProgress) throws(Failure) -> Answer {
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
    func change(_ change: (inout WalletState) -> Void) throws(Failure) {
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
final class Unlocked {
    let dataKey: SecretBytes
    let unlockShare: Share
    var accessData: AccessData
    /// The pair whose PIN unlocked, or replaced that one since.
    var pairID: PINKeyID

    init(dataKey: consuming SecretBytes, unlockShare: Share, accessData: AccessData, pairID: PINKeyID) {
        self.dataKey = dataKey
        self.unlockShare = unlockShare
        self.accessData = accessData
        self.pairID = pairID
    }
}
