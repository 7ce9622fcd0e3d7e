package import WalletFlows
internal import Evidence
internal import HostSystem
internal import Lab
internal import Synchronization
package import Vocabulary

/// The simulated hardware and operating system of a phone, stored in a folder (docs/devices.md).
///
/// Its evidence uses the vendors' real formats, but chains to a lab authority's roots. A ``Fault`` adds a defect to it.
/// The folder contains the data that would never leave a phone, so its files can only be read by their owner.
package final class SimulatedDevice: Device {
    let files: DeviceFiles
    let authorityFolder: String
    let clock: any WallClock
    /// The current profile.
    ///
    /// The lock must be held while files are changed. Otherwise, concurrent proofs would share a counter, and
    /// concurrent mismatches would be counted only once.
    private let state: Mutex<DeviceProfile>

    /// Opens the device in `folder`, or creates one with the given profile.
    ///
    /// - Parameters:
    ///   - authorityFolder: The folder of the lab's authority. Only read when a key is created.
    ///   - clock: The lab's clock, which dates device certificates and measures ``uptime``. The phone's owner cannot
    ///     set it.
    package init(
        folder: String,
        authorityFolder: String,
        clock: any WallClock,
        new profile: DeviceProfile = DeviceProfile(.android)
    ) throws(DeviceError) {
        self.files = DeviceFiles(folder: folder)
        self.authorityFolder = authorityFolder
        self.clock = clock
        self.state = Mutex(try self.files.profile(orNew: profile))
    }

    package var uptime: Duration { .milliseconds(self.clock.now().milliseconds) }

    package var profile: DeviceProfile { self.state.withLock { $0 } }

    /// Durably changes the profile.
    ///
    /// If `change` sets a different platform, this throws and changes nothing.
    package func update(_ change: (inout DeviceProfile) -> Void) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in change(&profile) }
    }

    /// Calls `body` with exclusive access to the profile and stores any changes.
    func withState<Result: ~Copyable>(
        _ body: (inout DeviceProfile) throws(DeviceError) -> Result
    ) throws(DeviceError) -> Result {
        try self.state.withLock { (profile) throws(DeviceError) in
            var changed = profile
            let result = try body(&changed)
            guard changed.platform == profile.platform else {
                throw .storage("the platform of this phone is \(profile.platform.rawValue) and cannot be changed")
            }
            if changed != profile { try self.files.write(changed) }
            profile = changed
            return result
        }
    }

    /// Calls `body` while preventing changes to the profile.
    func withProfile<Result: ~Copyable, Failure: Error>(
        _ body: (DeviceProfile) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.state.withLock { (profile) throws(Failure) in try body(profile) }
    }

    package var platform: Platform { self.profile.platform }
    package var osVersion: String { self.profile.osVersion }
    package var model: String { self.profile.model }
    package var isRooted: Bool { self.profile.isRooted }
    package var hasNetwork: Bool { self.profile.hasNetwork }
    package var appID: String { self.profile.appID }
    package var appVersion: String { self.profile.appVersion }
    package var hasKey: Bool { DurableFile.exists(self.files.path(.hardwareKey)) }

    package var biometrics: BiometricSupport { self.profile.usableBiometrics }
    package var hasPasscode: Bool { self.profile.hasPasscode }
    package var answersPrompts: Bool { self.profile.sensor != .ask }
    package var keychain: any Keychain { SimulatedKeychain(device: self, responder: self) }

    package func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
    {
        try await self.ask(prompt, presentation)
    }
}

/// The device's secure hardware.
extension SimulatedDevice {
    package func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try self.withState { (profile) throws(DeviceError) in
            let authority = try mapError(LabAuthority.load(from: self.authorityFolder)) { (_: LabAuthorityError) in
                DeviceError.attestationUnavailable
            }
            let request = AttestationRequest(
                profile: profile,
                challenge: profile.fault == .wrongChallenge ? sha256(challenge.bytes) : challenge,
                authority: authority,
                time: self.clock.now()
            )
            switch profile.platform {
            case .android:
                let (key, chain) = request.androidKey()
                try key.write(to: self.files.path(.hardwareKey))
                return .android(chain)
            case .iOS:
                guard profile.hasNetwork else { throw .attestationUnavailable }
                let (key, object, keyID) = request.appAttestKey()
                try key.write(to: self.files.path(.hardwareKey))
                return .apple(object: object, keyID: keyID)
            }
        }
    }

    package func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try self.withState { (profile) throws(DeviceError) in
            guard var key = try HardwareKey.read(self.files.path(.hardwareKey)) else { throw .noKey }
            switch profile.platform {
            case .android: return key.key.signature(for: statement).bytes
            case .iOS:
                if profile.fault != .counterReused || key.counter == 0 {
                    key.counter += 1
                    try key.write(to: self.files.path(.hardwareKey))
                }
                return key.assertion(for: sha256(statement), by: profile)
            }
        }
    }

    package func deleteKey() async throws(DeviceError) {
        try self.withState { (_) throws(DeviceError) in try self.files.remove(.hardwareKey) }
    }
}

/// Actions by the phone's owner.
extension SimulatedDevice: PromptResponder {
    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        try self.withRules { $0.answer(prompt, presentation) }
    }

    /// Unlocks the screen with the passcode, which also unlocks the sensor.
    package func unlockWithPasscode() throws(DeviceError) {
        try self.withRules { $0.passcodeWasEntered() }
    }

    /// Enrolls a face or a finger.
    ///
    /// The owner enters the passcode first, which also unlocks the sensor.
    ///
    /// Keychain items for the biometrics enrolled so far end, and the others stay (docs/devices.md, The keychain). The
    /// items end first: a crash in between must not leave one that the new finger opens.
    package func enroll(_ biometric: BiometricSupport) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in
            guard profile.hasPasscode else { throw .storage("a phone without a passcode enrolls no biometric") }
            guard profile.biometrics != .none else { throw .storage("the phone has no sensor") }
            do throws(KeychainError) {
                var items = try KeychainItems(self.files)
                try items.endEnrolledNow()
            } catch {
                throw .storage("\(error)")
            }
        }
        try self.withRules { rules in
            rules.passcodeWasEntered()
            rules.profile.biometrics = biometric
        }
    }

    /// Applies the rules and stores the number of mismatches before returning the result.
    private func withRules<Result>(_ body: (inout PromptRules) -> Result) throws(DeviceError) -> Result {
        try self.withState { (profile) throws(DeviceError) in
            let counted = try self.files.mismatches()
            var rules = PromptRules(profile: profile, mismatches: counted)
            let result = body(&rules)
            if rules.mismatches != counted { try self.files.write(mismatches: rules.mismatches) }
            profile = rules.profile
            return result
        }
    }

    /// Calls `body` with the keychain's items and the profile.
    ///
    /// The profile cannot change in the meantime.
    func withKeychain<Result: ~Copyable>(
        _ body: (inout KeychainItems, DeviceProfile) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try self.withProfile { (profile) throws(KeychainError) in
            var items = try KeychainItems(self.files)
            return try body(&items, profile)
        }
    }

    /// Returns the recovery code of the phone's owner, either from the profile or unique to the owner.
    package func recoveryCode() throws(DeviceError) -> RecoveryCode {
        let stated = self.profile.recoveryCode
        let owner = try self.files.owner()
        let text = stated ?? "person-\(owner.prefix(16))"
        return try mapError(RecoveryCode(reading: text.utf8)) { (problem: SecretTextProblem) in
            DeviceError.storage("the profile's recovery code \(problem)")
        }
    }

    /// Turns this folder into another phone with the same owner, on which the app was restored from a backup.
    ///
    /// Everything bound to the old phone is lost: the hardware key, the keychain items (like those with
    /// `THIS_DEVICE_ONLY`), and the number of mismatches. The keychain is removed first. It is a single file, so a
    /// crash cannot leave some of its items readable.
    package func moveToAnotherPhone(_ change: (inout DeviceProfile) -> Void = { _ in }) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in
            for name in [DeviceFiles.Name.keychain, .keychainKey, .hardwareKey, .keyHandle, .sensor] {
                try self.files.remove(name)
            }
            change(&profile)
        }
    }

    /// Removes the screen lock: the passcode, and with it every keychain item, because each item's prompt needs it.
    ///
    /// The hardware key does not depend on the screen lock and stays.
    package func removeScreenLock() throws(DeviceError) {
        try self.wipeKeychain()
        try self.update { $0.hasPasscode = false }
    }

    /// Removes all keychain items but keeps the hardware key, which can happen when a phone's settings are reset.
    package func wipeKeychain() throws(DeviceError) {
        try self.withState { (_) throws(DeviceError) in
            for name in [DeviceFiles.Name.keychain, .keychainKey] { try self.files.remove(name) }
        }
    }
}

extension SimulatedDevice {
    /// Durably removes and returns the profile's first condition if `applies` returns true for it.
    ///
    /// Conditions form a queue. A condition that is waiting for a specific call blocks those behind it.
    package func takeCondition(where applies: (NetworkCondition) -> Bool) throws(DeviceError) -> NetworkCondition? {
        try self.withState { (profile) throws(DeviceError) in
            guard let first = profile.conditions.first, applies(first) else { return nil }
            return profile.conditions.removeFirst()
        }
    }
}

/// An issuer that behaves as specified in a device's profile.
package struct SimulatedIssuer: PIDIssuer {
    private let device: SimulatedDevice

    package init(for device: SimulatedDevice) { self.device = device }

    package func obtain() async -> RecoveryCode? {
        switch self.device.profile.issuer {
        case .obtains: try? self.device.recoveryCode()
        case .cancels, .fails: nil
        }
    }
}
