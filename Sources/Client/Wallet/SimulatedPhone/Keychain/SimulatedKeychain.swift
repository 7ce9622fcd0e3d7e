internal import DeviceInterface
internal import Secrets

/// The keychain of a simulated phone, with the rules of real keychains applied to the state of the
/// phone.
struct SimulatedKeychain: Keychain {
    let device: SimulatedDevice
    /// The simulated sensor, or a program in its place.
    let responder: any PromptResponder

    func names() throws(KeychainError) -> [String] {
        try self.device.withKeychain { (items, _) throws(KeychainError) in items.names }
    }

    func add(_ secret: borrowing SecretBytes, as name: String, access: UnlockMethod) throws(KeychainError) {
        try self.device.withKeychain { (items, profile) throws(KeychainError) in
            guard !profile.isScreenLocked else { throw .screenLocked }
            guard profile.canGuard(access) else { throw .accessImpossible }
            try items.add(secret, as: name, access: access)
        }
    }

    /// The access of the item determines the means that the prompt accepts; the caller's prompt
    /// does not.
    ///
    /// A passcode never opens a biometric item.
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
        // Checked again: the phone may have been locked, or the item replaced, while the prompt was
        // open.
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

/// The part of a phone that answers prompts.
protocol PromptResponder: Sendable {
    /// Shows a prompt; counted mismatches are durable when this returns.
    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
}

extension DeviceProfile {
    /// True if the phone has the means to open an item with this access.
    fileprivate func canGuard(_ access: UnlockMethod) -> Bool {
        switch access {
        case .biometric: self.usableBiometrics.isEnrolled
        case .passcode, .either: self.hasPasscode
        }
    }
}
