package import DeviceInterface
internal import HostSystem
package import Vocabulary

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
