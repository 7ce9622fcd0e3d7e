internal import DeviceInterface

/// How a simulated phone answers a prompt; no file, no clock, no wait.
///
/// What changes must be durable before the answer is given: a process that ends in between may cost the owner a try,
/// and never gives a stranger one.
struct PromptRules: Hashable, Sendable {
    /// Mismatches in a row after which the sensor takes nothing more (Android and iOS: five).
    static let mismatchLimit = 5

    var profile: DeviceProfile
    /// Mismatches in a row, over all prompts and all lives of the app.
    var mismatches: Int

    /// Whether only the passcode helps.
    var isLockedOut: Bool { self.mismatches >= Self.mismatchLimit || self.profile.sensor == .lockout }

    /// Answers one prompt.
    mutating func answer(_ prompt: Prompt, _ presentation: Presentation) -> PromptResult {
        if let result = self.resultWithoutAsking(prompt) { return result }
        let takesBiometric = self.takesBiometric(prompt)
        let takesPasscode = self.takesPasscode(prompt)
        if self.isLockedOut, !takesPasscode { return .lockedOut }

        let sensor = takesBiometric && !(takesPasscode && self.isLockedOut)
        switch presentation == .byDevice ? self.presented(toSensor: sensor) : presentation {
        case .byDevice, .cancel: return .cancelled
        case .match: return takesBiometric ? self.sense(isOwner: true) : .cancelled
        case .mismatch: return takesBiometric ? self.sense(isOwner: false) : .cancelled
        case .passcode:
            // What a prompt has no field for sends it away.
            guard takesPasscode else { return .cancelled }
            self.passcodeWasEntered()
            return .confirmed
        case .wrongPasscode: return takesPasscode ? .rejected : .cancelled
        }
    }

    /// How a prompt ends that is not even shown; nil where it is.
    func resultWithoutAsking(_ prompt: Prompt) -> PromptResult? {
        // The system draws no prompt of an app on a locked screen.
        if self.profile.isScreenLocked { return .cancelled }
        return self.takesBiometric(prompt) || self.takesPasscode(prompt) ? nil : .unavailable
    }

    private func takesBiometric(_ prompt: Prompt) -> Bool {
        prompt.accepts != .passcode && self.profile.usableBiometrics.isEnrolled
    }

    private func takesPasscode(_ prompt: Prompt) -> Bool {
        prompt.accepts != .biometric && self.profile.hasPasscode
    }

    /// The phone was unlocked with its passcode: the sensor starts anew.
    mutating func passcodeWasEntered() {
        self.mismatches = 0
        self.profile.isScreenLocked = false
        if self.profile.sensor == .lockout { self.profile.sensor = .match }
    }

    /// What the profile's owner does: holds something to the sensor, or types the passcode.
    private mutating func presented(toSensor: Bool) -> Presentation {
        switch self.profile.sensor {
        case .match, .lockout: return toSensor ? .match : .passcode
        case .reject(let count):
            self.profile.sensor = count > 1 ? .reject(count - 1) : .match
            return toSensor ? .mismatch : .wrongPasscode
        case .cancel, .ask: return .cancel
        }
    }

    /// The fifth mismatch in a row is still answered as one; from then on the sensor is locked out.
    private mutating func sense(isOwner: Bool) -> PromptResult {
        if self.isLockedOut { return .lockedOut }
        self.mismatches = isOwner ? 0 : self.mismatches + 1
        return isOwner ? .confirmed : .rejected
    }
}
