internal import DeviceInterface
internal import HostSystem
internal import SimulatedPhone
internal import Phone
internal import WalletCore
internal import WalletFlows

extension ScenarioRun {
    /// Executes a step.
    func take(_ action: Step.Action) async throws(StepProblem) {
        switch action {
        case .launch, .resume, .background, .killApp, .tap, .enter, .present, .link, .hostSession, .confirm:
            try await self.useApp(action)
        case .refused(let action): try await self.refuse(action)
        case .setUp(let setUp): try await self.setUp(setUp)
        case .unlock(let pin): try await self.unlock(pin)
        case .advance(let duration): try await self.advance(by: duration)
        case .device(let change): try self.change(change)
        case .configure(let configuration): await self.current.configure(configuration)
        case .setClock(let change): self.current.clock.set(by: change)
        case .enroll, .wipeKeychain, .removeScreenLock, .enterPasscode: try self.useDevice(action)
        case .storage(let isFull): self.current.storage.isFull = isFull
        case .restore(let change): try await self.current.restore(change)
        case .phone(let name, let device): try self.switchPhone(to: name, device)
        case .clone(let name): try self.clone(as: name)
        case .backUp(let name): try self.backUp(as: name)
        case .restoreBackup(let name): try await self.restoreBackup(name)
        case .stopServer, .killServer, .startServer, .startSecondServer, .freezeServer, .thawServer,
            .exchangeCertificate:
            try await self.useServer(action)
        case .keep(let names): try await self.keep(names)
        case .operate(let step): try await self.operate(step)
        case .revokeWithCode(let code): try await self.revoke(with: code)
        case .expectScreen(let expectation): try await self.expect(expectation)
        case .expectOneOf(let expectations): try await self.expect(oneOf: expectations)
        case .expectScreenOf(let file): try await self.expect(screenOf: file)
        case .expectAll(let expectations): try await self.expect(all: expectations)
        case .expectTrace(let expectation): try self.expect(expectation)
        case .expectServer(let expectation): try await self.expect(expectation)
        case .expectEvent(let expectation): try self.expect(expectation)
        }
    }

    /// Executes a step that controls the server process.
    private func useServer(_ action: Step.Action) async throws(StepProblem) {
        let lab = try self.world.requireLab()
        switch action {
        case .stopServer: try await lab.stop()
        case .killServer: try await lab.kill()
        case .startServer(let settings): try await lab.start(changing: settings)
        case .startSecondServer: try await lab.startSecond()
        case .freezeServer: try lab.freeze()
        case .thawServer: try await lab.thaw()
        case .exchangeCertificate(let certificate): try await lab.exchange(certificate)
        default: return
        }
    }

    /// Executes a user or operating system action on the app.
    private func useApp(_ action: Step.Action) async throws(StepProblem) {
        let phone = self.current.phone
        switch action {
        case .launch(let link):
            let link = try link.map { (link) throws(StepProblem) in try self.incoming(link) }
            try await self.act { (phone) throws(PhoneError) in try await phone.launch(opening: link) }
        case .resume(let link):
            let link = try link.map { (link) throws(StepProblem) in try self.incoming(link) }
            try await self.act { (phone) throws(PhoneError) in try await phone.resume(opening: link) }
        case .background(let duration):
            try await self.act { (phone) throws(PhoneError) in try await phone.background() }
            if let duration { try await self.advance(by: duration) }
        case .killApp(atWrite: .some(let number)):
            try self.current.checkCrash()
            self.current.process.crash(beforeWrite: number)
        case .killApp(atWrite: nil):
            try self.current.checkCrash()
            self.current.process.restart()
            await phone.endProcess()
        case .tap(let actions):
            for action in actions {
                try await self.act { (phone) throws(PhoneError) in try await phone.tap(action) }
            }
        case .enter(let pins):
            for pin in pins { try await self.enter(pin) }
        case .present(let presentations):
            for presentation in presentations { try await self.present(presentation) }
        case .link(let link):
            let link = try self.incoming(link)
            try await self.act { (phone) throws(PhoneError) in try await phone.open(link) }
        case .hostSession(let session):
            try await self.act { (phone) throws(PhoneError) in try await phone.setHostSession(session) }
        case .confirm(let title, let details):
            let confirmation = try self.confirmation(title, details)
            try await self.act { (phone) throws(PhoneError) in try await phone.confirm(confirmation) }
        default:
            return
        }
    }

    /// Executes an action on the current phone's app.
    func act(_ body: (Phone) async throws(PhoneError) -> Screen) async throws(StepProblem) {
        do throws(PhoneError) {
            _ = try await body(self.current.phone)
        } catch {
            guard !self.current.process.isDead else {
                await self.current.settle()
                return
            }
            self.latestRefusal = error
            let screen = await self.current.phone.screen
            let offers = screen.actions.map(\.id.rawValue).joined(separator: ", ")
            throw .failed(
                "\(error)",
                [.init(what: "actions of the screen", expected: "the step's action", seen: offers)]
            )
        }
        await self.current.settle()
    }

    /// Executes an action that the app must refuse without any side effect.
    ///
    /// Only a refusal by the app counts. An unknown `${NAME}` or a damaged file makes the scenario fail.
    private func refuse(_ action: Step.Action) async throws(StepProblem) {
        self.latestRefusal = nil
        let before = await self.current.phone.screen
        do throws(StepProblem) {
            try await self.useApp(action)
        } catch {
            switch self.latestRefusal {
            case .some(.wallet), .some(.notRunning), .some(.inBackground): break
            default: throw error
            }
            let now = await self.current.phone.screen
            guard now == before else {
                throw .failed("the app refused the step, but its screen changed from \(before.step) to \(now.step)")
            }
            return
        }
        throw .failed("the app did not refuse the step")
    }

    func enter(_ pin: String) async throws(StepProblem) {
        let pin = try self.filled(pin)
        try await self.act { (phone) throws(PhoneError) in try await phone.enter(PINInput(typed: Array(pin.utf8))) }
    }

    func present(_ presentation: Presentation) async throws(StepProblem) {
        try await self.act { (phone) throws(PhoneError) in try await phone.present(presentation) }
    }

    /// Advances the clock of the server and the phones, and refreshes the app if it is running.
    private func advance(by duration: Duration) async throws(StepProblem) {
        try await self.world.requireLab().advance(by: duration)
        guard await self.current.phone.isRunning else { return }
        try await self.act { (phone) throws(PhoneError) in await phone.refresh() }
    }

    private func change(_ change: DeviceChange) throws(StepProblem) {
        do {
            var profile = self.current.phone.device.profile
            let pending = profile.conditions
            change.apply(to: &profile)
            // `none` is used to discard pending conditions, so they are not required to have happened.
            if profile.conditions != pending, !profile.conditions.isEmpty { try self.current.checkConditions() }
            let changed = profile
            try self.current.phone.device.update { $0 = changed }
        } catch let problem as StepProblem {
            throw problem
        } catch {
            throw .failed("the phone cannot be changed: \(error)")
        }
    }

    /// Executes an action by the phone's owner.
    private func useDevice(_ action: Step.Action) throws(StepProblem) {
        let device = self.current.phone.device
        do throws(DeviceError) {
            switch action {
            case .enterPasscode: try device.unlockWithPasscode()
            case .enroll(let biometric): try device.enroll(biometric)
            case .wipeKeychain: try device.wipeKeychain()
            case .removeScreenLock: try device.removeScreenLock()
            default: return
            }
        } catch {
            throw .failed("the phone cannot be changed: \(error)")
        }
    }

    private func keep(_ names: [String: String]) async throws(StepProblem) {
        let values = await self.current.phone.screen.values
        for (name, value) in names {
            guard let value = values[value] else {
                let known = values.keys.sorted().joined(separator: ", ")
                throw .failed("the screen shows no value `\(value)`; its values: \(known.isEmpty ? "none" : known)")
            }
            self.kept[name] = value.text
        }
    }

    private func confirmation(_ title: String, _ details: String) throws(StepProblem) -> ConfirmationRequest {
        let (title, details): (String, String) = (try self.filled(title), try self.filled(details))
        return try mapError(ConfirmationRequest(title: title, details: details)) { (error: ConfirmationError) in
            StepProblem.failed("\(error)")
        }
    }

    private func incoming(_ link: LinkText) throws(StepProblem) -> IncomingLink {
        IncomingLink(try self.filled(link.url), from: link.source)
    }
}
