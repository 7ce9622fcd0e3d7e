internal import Phone
internal import DeviceInterface
internal import WalletFlows

/// Ways that many scenarios begin with; they leave no trace to be asserted, and count as reached all the same.
extension Play {
    /// From the introduction to a wallet that is set up and unlocked.
    func setUp(_ setUp: SetUp) async throws(StepProblem) {
        // The longest way has thirteen screens; one that stays is met again.
        for _ in 0..<20 {
            if await !self.present.phone.isInFront {
                try await self.act { (phone) throws(PhoneError) in try await phone.resume() }
            }
            let screen = await self.present.phone.screen
            guard try await self.goOn(setUp, from: screen) else { return self.present.ear.forgetTrace() }
        }
        throw .failed("the setup does not come to an end")
    }

    /// One screen further; false where the end is reached.
    private func goOn(_ setUp: SetUp, from screen: Screen) async throws(StepProblem) -> Bool {
        switch screen.step {
        case "UC1.1/1.1": try await self.tap(.skip)
        case "UC1.1/1.4", "UC2.1/1.5": try await self.tap(.next)
        case "PF2.9/1.1", "PF2.9/1.3": try await self.enter(setUp.pin)
        case "UC2.1/1.3": try await self.tap(setUp.enablesBiometrics ? .enable : .skip)
        case "UC2.1/1.4": try await self.present(.match)
        case "UC2.1/1.6":
            if let name = setUp.codeName { self.kept[name] = screen.values["deletionCode"]?.text }
            try await self.tap(.writtenDown)
        case "UC3.1/1.1":
            guard setUp.obtainsPID else { return false }
            try await self.tap(.obtain)
        case "UC2.3/1.3", "PF2.4/1.1": try await self.enter(setUp.pin)
        case "UC7.1/1.1": return false
        default: throw .failed("the setup stopped at \(screen.step) \(screen.title)")
        }
        return true
    }

    /// Launches or resumes the app where it is not in sight, and gives what it asks for: the PIN, the owner, or both.
    func unlock(_ pin: String) async throws(StepProblem) {
        if await !self.present.phone.isInFront {
            try await self.act { (phone) throws(PhoneError) in try await phone.resume() }
        }
        for _ in 0..<3 {
            switch await self.present.phone.screen.step {
            case "UC2.3/1.3": try await self.enter(pin)
            case "UC2.3/1.2", "UC2.2/1.3": try await self.present(.match)
            default: break
            }
        }
        guard await !self.present.phone.isLocked else {
            let screen = await self.present.phone.screen
            throw .failed("the app was not unlocked: it shows \(screen.step) \(screen.title)")
        }
        self.present.ear.forgetTrace()
    }

    private func tap(_ action: ActionID) async throws(StepProblem) {
        try await self.act { (phone) throws(PhoneError) in try await phone.tap(action) }
    }
}
