package import DeviceInterface
package import Vocabulary

/// The actions of the phone's owner.
extension SimulatedDevice: PromptResponder {
    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        try self.withRules { $0.answer(prompt, presentation) }
    }

    /// Unlocks the screen with the passcode, which also ends a lockout of the sensor.
    package func unlockWithPasscode() throws(DeviceError) {
        try self.withRules { $0.passcodeWasEntered() }
    }

    /// Enrolls a face or a finger.
    ///
    /// The owner enters the passcode first, which also ends a lockout of the sensor.
    ///
    /// Keychain items that accept any enrolled biometric survive this (docs/devices.md, The keychain).
    package func enroll(_ biometric: BiometricSupport) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in
            guard profile.hasPasscode else { throw .storage("a phone without a passcode enrolls no biometric") }
            guard profile.biometrics != .none else { throw .storage("the phone has no sensor") }
        }
        try self.withRules { rules in
            rules.passcodeWasEntered()
            rules.profile.biometrics = biometric
        }
    }

    /// True if the sensor accepts nothing until the passcode is entered.
    package func isSensorLockedOut() throws(DeviceError) -> Bool {
        try self.withRules { $0.isLockedOut }
    }

    /// Applies the rules and persists the count of mismatches before returning the result.
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

    /// Runs `body` with the keychain's items and the profile.
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

    /// The recovery code of the phone's owner: from the profile, or unique to the owner.
    package func recoveryCode() throws(DeviceError) -> RecoveryCode {
        let stated = self.profile.recoveryCode
        let owner = try self.files.owner()
        guard let code = RecoveryCode((stated ?? "person-\(owner.prefix(16))").utf8) else {
            throw .storage("the profile's recovery code is too long")
        }
        return code
    }

    /// Turns this folder into another phone of the same owner, with the app restored from a backup.
    ///
    /// Everything bound to the old phone is gone: the hardware key, the keychain items (as with
    /// `THIS_DEVICE_ONLY`) and the count of mismatches. The keychain goes first. It is a single file,
    /// so a crash cannot leave part of its items readable.
    package func moveToAnotherPhone(_ change: (inout DeviceProfile) -> Void = { _ in }) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in
            for name in [DeviceFiles.Name.keychain, .keychainKey, .hardwareKey, .keyHandle, .sensor] {
                try self.files.remove(name)
            }
            change(&profile)
        }
    }

    /// Removes all keychain items but keeps the hardware key, as resetting a phone's settings can.
    package func wipeKeychain() throws(DeviceError) {
        try self.withState { (_) throws(DeviceError) in
            for name in [DeviceFiles.Name.keychain, .keychainKey] { try self.files.remove(name) }
        }
    }

    /// Creates another phone of the same owner in a separate folder, without any device-bound data.
    ///
    /// Copying the app's data is up to the caller.
    package func restored(in folder: String) throws(DeviceError) -> SimulatedDevice {
        let owner = try self.files.owner()
        let new = try SimulatedDevice(
            folder: folder,
            authorityFolder: self.authorityFolder,
            clock: self.clock,
            new: self.profile
        )
        try new.moveToAnotherPhone()
        try new.files.write(Array("\(owner)\n".utf8), to: .owner)
        return new
    }
}
