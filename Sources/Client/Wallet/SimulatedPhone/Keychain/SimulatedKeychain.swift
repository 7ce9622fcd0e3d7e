internal import DeviceInterface
internal import Secrets

/// The keychain of a simulated phone; the rules of real ones, kept by the phone's own state.
struct SimulatedKeychain: Keychain {
    let device: SimulatedDevice
    /// Who asks the owner: the phone's own sensor, or a program in its place.
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

    /// The item's own access decides what the prompt accepts, whatever the caller's prompt says: an item for a biometric
    /// is never opened by a passcode.
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
        // Once more: the phone may have been locked, or the item replaced, while the prompt was open.
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

/// Whoever answers a phone's prompts.
protocol PromptResponder: Sendable {
    /// Asks whoever holds the phone; what is counted is durable when this returns.
    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
}

extension DeviceProfile {
    /// Whether an item can have this access: there must be something to open it with.
    fileprivate func canGuard(_ access: UnlockMethod) -> Bool {
        switch access {
        case .biometric: self.usableBiometrics.isEnrolled
        case .passcode, .either: self.hasPasscode
        }
    }
}
