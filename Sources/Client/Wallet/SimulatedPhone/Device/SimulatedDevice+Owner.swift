package import DeviceInterface
package import Vocabulary

/// Whoever holds the phone.
extension SimulatedDevice: PromptResponder {
    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        try self.withRules { $0.answer(prompt, presentation) }
    }

    /// The phone is unlocked with its passcode: the screen opens, and a sensor that was locked out takes fingers again.
    package func unlockWithPasscode() throws(DeviceError) {
        try self.withRules { $0.passcodeWasEntered() }
    }

    /// Whether the sensor takes nothing more until the passcode was entered.
    package func isSensorLockedOut() throws(DeviceError) -> Bool {
        try self.withRules { $0.isLockedOut }
    }

    /// What the rules count is written before anybody learns the answer.
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

    /// Works on the keychain's items, and with the profile as it is meanwhile.
    func withKeychain<Result: ~Copyable>(
        _ body: (inout KeychainItems, DeviceProfile) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try self.withProfile { (profile) throws(KeychainError) in
            var items = try KeychainItems(self.files)
            return try body(&items, profile)
        }
    }

    /// The recovery code of the phone's owner: the profile's, or one that no other owner has.
    package func recoveryCode() throws(DeviceError) -> RecoveryCode {
        let stated = self.profile.recoveryCode
        let owner = try self.files.owner()
        guard let code = RecoveryCode((stated ?? "person-\(owner.prefix(16))").utf8) else {
            throw .storage("the profile's recovery code is too long")
        }
        return code
    }

    /// The app was restored from a backup to another phone, of the same owner: this folder is that phone from now on.
    ///
    /// What `THIS_DEVICE_ONLY` and secure hardware mean: hardware key, keychain items and the sensor's count stay behind.
    /// The items go first, all at once: a crash in between leaves a phone without any, and nothing that is half readable.
    package func moveToAnotherPhone(_ change: (inout DeviceProfile) -> Void = { _ in }) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in
            for name in [DeviceFiles.Name.keychain, .keychainKey, .hardwareKey, .keyHandle, .sensor] {
                try self.files.remove(name)
            }
            change(&profile)
        }
    }

    /// Another phone of the same owner, in a folder of its own, without anything that never leaves a phone.
    ///
    /// The app's data are the caller's to copy.
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
