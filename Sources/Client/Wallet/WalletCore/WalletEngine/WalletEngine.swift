internal import WalletFlows
internal import Secrets
internal import Statements
internal import Transport
internal import Vocabulary
internal import Wire

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
    var unlocked: UnlockedKeys?
    /// The pair for a new PIN whose ChangePIN may have been sent, and the attempt id of that PIN's entry.
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
        facts.unlockMethod = registration?.biometrics?.method ?? .biometric
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
        if stored == .done { try self.forgetWrittenDownCode(of: registration.walletID) }
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

/// Connections and sessions.
extension WalletEngine {
    /// Returns the current connection, or opens a new one and sends a Hello.
    func greetedConnection() async throws -> WalletConnection {
        if let connection = self.connection { return connection }
        guard self.device.hasNetwork else { throw Failure.noInternet }
        let channel = try await self.dialer.dial()
        let hello = Hello(appVersion: self.appVersion, platform: self.device.platform, osVersion: self.osVersion)
        let opening = await self.earlyOpening(on: channel)
        let answers = await channel.callInOrder([.hello(hello)] + (opening.map { [.openSession($0)] } ?? []))
        switch answers[0] {
        case .success(.hello(let terms)):
            self.remember(terms)
            let early = opening.map { WalletConnection.EarlyOpening(walletID: $0.walletID, answer: answers[1]) }
            let connection = WalletConnection(channel: channel, terms: terms, earlyOpening: early)
            self.connection = connection
            return connection
        case .success(.refused(let refusal)):
            await channel.close()
            throw Failure(refusal)
        case .success:
            await channel.close()
            throw Failure.local(.replyUnexpected)
        case .failure(let error):
            await channel.close()
            throw Failure(error, notCounted: true)
        }
    }

    /// Returns the OpenSession to send directly after the Hello, if the wallet has already had its first session.
    ///
    /// The first session is never opened early, because the token cannot be registered again after that. Returns nil if
    /// the proof cannot be made; the error is then thrown when the session is needed.
    private func earlyOpening(on channel: any CallChannel) async -> OpenSession? {
        guard let registration = self.store.state.registration, registration.hadSession else { return nil }
        return try? await self.sessionRequest(registration.walletID, channel.channelBinding)
    }

    /// Sends a call.
    ///
    /// A lost connection is dropped, so that the next call opens a new one.
    func call(_ call: Call, on connection: WalletConnection) async throws(CallError) -> CallResult {
        do {
            return try await connection.channel.call(call)
        } catch {
            await self.disconnect()
            throw error
        }
    }

    enum Opening {
        case active(WalletConnection)
        case revoked(Revocation)
        /// The server does not know the wallet, or knows it with a different key.
        ///
        /// The refusal does not say which.
        case notKnown(Refusal)
    }

    /// Opens a session for `walletID` on the current connection or a new one.
    ///
    /// If the proof is rejected, this method tries once more on a new connection. On iOS, a later proof may have been
    /// received first, which invalidates the counter of this one.
    func openSession(for walletID: WalletID) async throws -> Opening {
        if let connection = self.connection, connection.session?.walletID == walletID, !connection.hasSessionEnded {
            return .active(connection)
        }
        if let connection = self.connection, connection.session != nil || connection.hasSessionEnded {
            await self.disconnect()
        }
        var lastRefusal: Refusal?
        for _ in 0..<2 {
            let hadConnection = self.connection != nil
            let connection = try await self.greetedConnection()
            switch try await self.openingAnswer(walletID, on: connection) {
            case .success(.openSession(.active(let wallet))):
                let session = WalletConnection.Session(
                    walletID: walletID,
                    pinKeyID: wallet.pinKeyID,
                    features: wallet.features,
                    pinState: wallet.pinState,
                    presenceShare: wallet.presenceShare,
                    nextPresenceShare: wallet.nextPresenceShare
                )
                connection.begin(session)
                if walletID == self.store.state.registration?.walletID { self.adopt(wallet) }
                return .active(connection)
            case .success(.openSession(.revoked(let revocation))):
                // Only one OpenSession is allowed per connection, so the next call needs a new one.
                await self.disconnect()
                return .revoked(revocation)
            case .success(.refused(let refusal)) where refusal.reason == .authenticationFailed:
                lastRefusal = refusal
                await self.disconnect()
            case .success(.refused(let refusal)): throw Failure(refusal)
            case .success: throw Failure.local(.replyUnexpected)
            case .failure(let error):
                // An idle connection may have been closed long ago, so this does not mean that the server is
                // unreachable.
                if !hadConnection { throw Failure(error, notCounted: true) }
            }
        }
        guard let lastRefusal else { throw Failure.serverUnreachable(notCounted: true) }
        return .notKnown(lastRefusal)
    }

    /// Returns the answer to the OpenSession that was sent early, or sends one now.
    private func openingAnswer(
        _ walletID: WalletID,
        on connection: WalletConnection
    ) async throws -> Result<CallResult, CallError> {
        if let early = connection.takeEarlyOpening(of: walletID) {
            if case .failure = early { await self.disconnect() }
            return early
        }
        let request = try await self.sessionRequest(walletID, connection.channel.channelBinding)
        do {
            return .success(try await self.call(.openSession(request), on: connection))
        } catch {
            return .failure(error)
        }
    }

    private func sessionRequest(_ walletID: WalletID, _ channelBinding: ChannelBinding) async throws -> OpenSession {
        let body = OpenSessionBody(appVersion: self.appVersion, osVersion: self.osVersion).encoded()
        let proof = try await self.proof(
            of: Statement(.session, channelBinding: channelBinding, walletID: walletID, body: body)
        )
        return OpenSession(walletID: walletID, body: body, deviceProof: proof)
    }

    /// Proves a statement with the hardware key; called once the connection for sending the proof is ready.
    func proof(of statement: Statement) async throws -> DeviceProof {
        guard let proof = DeviceProof(try await self.device.prove(statement: statement.bytes)) else {
            throw Failure.local(.deviceFormat)
        }
        return proof
    }

    /// Opens a session for this wallet.
    ///
    /// After the first one, its token cannot be registered again.
    func walletSession() async throws -> Opening {
        guard let registration = self.store.state.registration else { throw Failure.local(.notReady) }
        let opening = try await self.openSession(for: registration.walletID)
        switch opening {
        case .active(let connection):
            self.store.remember { cached in
                cached.lastRevocation = nil
                if let features = connection.session?.features { cached.lastFeatures = features }
            }
            guard !registration.hadSession else { return opening }
            // If the first session has a different PIN key, it was replaced by a delayed duplicate of the registration,
            // so we have to enroll again.
            guard let session = connection.session, registration.pair(session.pinKeyID) != nil else { return opening }
            try self.change { state in
                state.registration?.hadSession = true
                state.enrollment = nil
            }
        case .revoked(let revocation):
            self.store.remember { $0.lastRevocation = revocation }
        case .notKnown: break
        }
        return opening
    }

    /// Returns a connection that has a session for this wallet; throws if the wallet is revoked or unknown.
    func activeSession() async throws -> WalletConnection {
        switch try await self.walletSession() {
        case .active(let connection): return connection
        case .revoked(let revocation): throw Failure.revoked(revocation)
        case .notKnown(let refusal): throw Failure(refusal, .walletUnknown)
        }
    }

    private func remember(_ terms: ServerTerms) {
        let now = self.clock.now()
        self.store.remember { cached in
            cached.lastUpdate = RememberedUpdate(verdict: terms.update, receivedAt: now, appVersion: self.appVersion)
            cached.attemptPolicy = terms.policy
            // The features of a registered wallet are sent with its session.
            if self.store.state.registration == nil { cached.lastFeatures = terms.features }
            if terms.solutionRevoked {
                cached.lastRevocation = Revocation(reason: .solution, mayRegisterAnew: false)
            } else if cached.lastRevocation?.reason == .solution {
                cached.lastRevocation = nil
            }
        }
    }
}

/// PF1.4 and UC1.2/2.4: the server's information about the app version and this wallet.
extension WalletEngine {
    /// Returns the update verdict from the last Hello if it has not been reported yet, or sends a new Hello.
    func askUpdatePolicy() async throws -> Answer {
        if let terms = self.connection?.takeTerms() { return Self.answer(terms) }
        await self.disconnect()
        let connection = try await self.greetedConnection()
        let terms = connection.takeTerms() ?? connection.terms
        await self.tryCompletingPendingWipe()
        return Self.answer(terms)
    }

    /// Returns the status reported when a session is opened.
    ///
    /// Opens a new session if the current one has been reported already.
    ///
    /// If the hardware key is missing because the app was restored to another phone, the wallet cannot authenticate.
    /// The server may also have no record of the wallet, because its store was restored to a time before the
    /// registration, or because the wallet was revoked and purged. In both cases, we continue with the unlock, which
    /// will find that nothing can be opened and offer the reset (SB9).  
    func askStatus() async throws -> Answer {
        guard let registration = self.store.state.registration else { return .status(.active) }
        guard self.device.hasKey else {
            guard registration.hadSession else { return try self.abandonEnrollment() }
            return self.cachedStatus
        }
        if let connection = self.connection, connection.session != nil, !connection.takeUnreportedSession() {
            await self.disconnect()
        }
        switch try await self.walletSession() {
        case .active(let connection):
            _ = connection.takeUnreportedSession()
            let hasOurKey = connection.session.map { registration.pair($0.pinKeyID) != nil } ?? false
            if !registration.hadSession, !hasOurKey { return try self.abandonEnrollment() }
            return .status(.active)
        case .revoked(let revocation):
            return .status(.revoked(revocation))
        case .notKnown:
            // The server removes registrations that are not followed by a session within a day.
            if !registration.hadSession { return try self.abandonEnrollment() }
            return self.cachedStatus
        }
    }

    /// Returns the state of the wallet's PIN attempts, which the server reports when a session is opened.
    func askPINState() async throws -> Answer {
        await self.disconnect()
        guard let session = try await self.activeSession().session else { throw Failure.local(.notReady) }
        return .pinState(session.pinState)
    }

    /// The last status received from the server.
    private var cachedStatus: Answer {
        .status(self.store.serverState.lastRevocation.map { .revoked($0) } ?? .active)
    }

    /// Drops the token, so that the next enrollment begins with a new one.
    ///
    /// Everything else is kept, because the old registration is replaced only once the server has confirmed the new
    /// one.
    private func abandonEnrollment() throws -> Answer {
        try self.change { $0.enrollment = nil }
        return .status(.mustEnrollAnew)
    }

    private static func answer(_ terms: ServerTerms) -> Answer {
        .updatePolicy(terms.update, solutionRevoked: terms.solutionRevoked)
    }
}
