internal import DeviceInterface
internal import Secrets

/// The keychain of a simulated phone, which behaves like a real one.
struct SimulatedKeychain: Keychain {
    let device: SimulatedDevice
    /// The simulated sensor, or a program that replaces it.
    let responder: any PromptResponder

    func names() throws(KeychainError) -> [String] {
        try self.device.withKeychain { (items, _) throws(KeychainError) in items.names }
    }

    func add(_ secret: borrowing SecretBytes, as name: String, access: ItemAccess) throws(KeychainError) {
        try self.device.withKeychain { (items, profile) throws(KeychainError) in
            guard !profile.isScreenLocked else { throw .screenLocked }
            guard profile.canGuard(access.method) else { throw .accessImpossible }
            try items.add(secret, as: name, access: access)
        }
    }

    /// Reads an item after showing a prompt.
    ///
    /// The unlock methods accepted by the prompt depend on the item, not on the caller's prompt, so a passcode never
    /// opens a biometric item.
    func read(_ name: String, _ prompt: Prompt, _ presentation: Presentation) async throws(KeychainError) -> SecretBytes
    {
        let access = try self.device.withKeychain { (items, profile) throws(KeychainError) in
            let access = try items.access(of: name)
            guard !profile.isScreenLocked else { throw .screenLocked }
            return access
        }
        let result: PromptResult
        do throws(DeviceError) {
            result = try await self.responder.ask(Prompt(prompt.purpose, accepts: access), presentation)
        } catch {
            throw .storage("\(error)")
        }
        guard result == .confirmed else { throw .prompt(result) }
        // Check again, because the phone may have been locked or the item replaced while the prompt was open.
        return try self.device.withKeychain { (items, profile) throws(KeychainError) in
            guard !profile.isScreenLocked else { throw .screenLocked }
            guard try items.access(of: name) == access else { throw .prompt(.cancelled) }
            return try items.open(name)
        }
    }

    func remove(_ name: String) throws(KeychainError) {
        try self.device.withKeychain { (items, _) throws(KeychainError) in try items.remove(name) }
    }
}

/// A component of the phone that can answer prompts.
protocol PromptResponder: Sendable {
    /// Shows a prompt.
    ///
    /// Any mismatch is durably counted before this method returns.
    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
}

extension DeviceProfile {
    /// Returns whether the phone supports this unlock method.
    fileprivate func canGuard(_ access: UnlockMethod) -> Bool {
        switch access {
        case .biometric: self.usableBiometrics.isEnrolled
        case .passcode, .either: self.hasPasscode
        }
    }
}
