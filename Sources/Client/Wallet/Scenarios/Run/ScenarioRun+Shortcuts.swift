internal import Phone
internal import DeviceInterface
internal import WalletFlows

/// Shortcuts for the steps that many scenarios begin with.
///
/// Their flow steps count towards coverage, but are not part of the trace.
extension ScenarioRun {
    /// Sets up a wallet, from the introduction to the unlocked app.
    func setUp(_ setUp: SetUp) async throws(StepProblem) {
        // The longest setup has thirteen screens. The limit is for a setup that gets stuck on one of them.
        for _ in 0..<20 {
            if await !self.current.phone.isInFront {
                try await self.act { (phone) throws(PhoneError) in try await phone.resume() }
            }
            let screen = await self.current.phone.screen
            guard try await self.answer(setUp, from: screen) else { return self.current.recorder.clearTrace() }
        }
        throw .failed("the setup does not end")
    }

    /// Answers the current setup screen, or returns false if the setup is complete.
    private func answer(_ setUp: SetUp, from screen: Screen) async throws(StepProblem) -> Bool {
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

    /// Brings the app to the foreground if necessary and answers its prompts for the PIN and biometrics.
    func unlock(_ pin: String) async throws(StepProblem) {
        if await !self.current.phone.isInFront {
            try await self.act { (phone) throws(PhoneError) in try await phone.resume() }
        }
        for _ in 0..<3 {
            switch await self.current.phone.screen.step {
            case "UC2.3/1.3": try await self.enter(pin)
            case "UC2.3/1.2", "UC2.2/1.3": try await self.present(.match)
            default: break
            }
        }
        guard await !self.current.phone.isLocked else {
            let screen = await self.current.phone.screen
            throw .failed("the app was not unlocked; it shows \(screen.step) \(screen.title)")
        }
        self.current.recorder.clearTrace()
    }

    private func tap(_ action: ActionID) async throws(StepProblem) {
        try await self.act { (phone) throws(PhoneError) in try await phone.tap(action) }
    }
}
