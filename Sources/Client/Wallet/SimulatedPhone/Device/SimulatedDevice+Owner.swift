package import DeviceInterface
package import Vocabulary

/// Actions of the phone's owner.
extension SimulatedDevice: PromptResponder {
    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        try self.withRules { $0.answer(prompt, presentation) }
    }

    /// Unlocks the screen with the passcode, which also ends a lockout of the sensor.
    package func unlockWithPasscode() throws(DeviceError) {
        try self.withRules { $0.passcodeWasEntered() }
    }

    /// Enrolls a face or a finger after the owner has entered the passcode, which also ends a lockout of the sensor.
    ///
    /// Items of the keychain that any enrolled biometric opens stay (docs/devices.md, The keychain).
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

    /// Applies the rules; counted mismatches are written before the result is returned.
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

    /// Runs `body` with the keychain's items and the profile, which cannot change while it runs.
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

    /// Restores the app from a backup to another phone of the same owner, which this folder
    /// represents from now on.
    ///
    /// As `THIS_DEVICE_ONLY` and secure hardware require, hardware key, keychain items and the
    /// count of mismatches are not restored. The keychain is removed first, as one file, so that a
    /// crash leaves no partly readable items.
    package func moveToAnotherPhone(_ change: (inout DeviceProfile) -> Void = { _ in }) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in
            for name in [DeviceFiles.Name.keychain, .keychainKey, .hardwareKey, .keyHandle, .sensor] {
                try self.files.remove(name)
            }
            change(&profile)
        }
    }

    /// Removes all items of the keychain, as a reset of the phone's settings can; the hardware key stays.
    package func wipeKeychain() throws(DeviceError) {
        try self.withState { (_) throws(DeviceError) in
            for name in [DeviceFiles.Name.keychain, .keychainKey] { try self.files.remove(name) }
        }
    }

    /// Creates another phone of the same owner in a separate folder, without the data that never
    /// leaves a phone.
    ///
    /// The caller copies the app's data.
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
