internal import WalletFlows

/// Determines how a simulated phone answers prompts.
///
/// This is a value that does not perform any I/O.
///
/// The caller must make changes durable before it returns the answer. A crash in between may cost the owner a try, but
/// never gives an attacker a free one.
struct PromptRules: Hashable, Sendable {
    /// The number of consecutive mismatches after which the sensor is locked (five on both Android and iOS).
    static let mismatchLimit = 5

    var profile: DeviceProfile
    /// The number of consecutive mismatches, across prompts and app restarts.
    var mismatches: Int

    /// Whether the sensor is locked until the passcode is entered.
    var isLockedOut: Bool { self.mismatches >= Self.mismatchLimit || self.profile.sensor == .lockout }

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
            // The prompt does not offer this input, so it is treated as a dismissal.
            guard takesPasscode else { return .cancelled }
            self.passcodeWasEntered()
            return .confirmed
        case .wrongPasscode: return takesPasscode ? .rejected : .cancelled
        }
    }

    /// Returns the result if the prompt is not shown at all, or nil if it is shown.
    func resultWithoutAsking(_ prompt: Prompt) -> PromptResult? {
        // The system does not show an app's prompts while the screen is locked.
        if self.profile.isScreenLocked { return .cancelled }
        return self.takesBiometric(prompt) || self.takesPasscode(prompt) ? nil : .unavailable
    }

    private func takesBiometric(_ prompt: Prompt) -> Bool {
        prompt.accepts != .passcode && self.profile.usableBiometrics.isEnrolled
    }

    private func takesPasscode(_ prompt: Prompt) -> Bool {
        prompt.accepts != .biometric && self.profile.hasPasscode
    }

    /// Resets the sensor after the phone has been unlocked with its passcode.
    mutating func passcodeWasEntered() {
        self.mismatches = 0
        self.profile.isScreenLocked = false
        if self.profile.sensor == .lockout { self.profile.sensor = .match }
    }

    /// Returns the input that the owner provides according to the profile, using the sensor or the passcode.
    private mutating func presented(toSensor: Bool) -> Presentation {
        switch self.profile.sensor {
        case .match, .lockout: return toSensor ? .match : .passcode
        case .reject(let count):
            self.profile.sensor = count > 1 ? .reject(count - 1) : .match
            return toSensor ? .mismatch : .wrongPasscode
        case .cancel, .ask: return .cancel
        }
    }

    /// Checks an input to the sensor.
    ///
    /// Like on real phones, the fifth consecutive mismatch is reported as a mismatch. Only later inputs fail with a
    /// lockout.
    private mutating func sense(isOwner: Bool) -> PromptResult {
        if self.isLockedOut { return .lockedOut }
        self.mismatches = isOwner ? 0 : self.mismatches + 1
        return isOwner ? .confirmed : .rejected
    }
}
