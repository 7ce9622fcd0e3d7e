internal import DeviceInterface
internal import SimulatedPhone
internal import Phone
internal import WalletCore
internal import WalletFlows

extension Play {
    /// Does one step.
    func take(_ action: Step.Action) async throws(StepProblem) {
        switch action {
        case .launch, .resume, .background, .killApp, .tap, .enter, .present, .link, .hostSession:
            try await self.use(action)
        case .setUp(let setUp): try await self.setUp(setUp)
        case .unlock(let pin): try await self.unlock(pin)
        case .advance(let duration): try await self.advance(by: duration)
        case .device(let change): try self.change(change)
        case .restore(let change): try await self.present.restore(change)
        case .enterPasscode: try self.enterPasscode()
        case .phone(let name, let device): try self.hold(name, device)
        case .stopServer: try await self.world.needLab().stop()
        case .killServer: try await self.world.needLab().kill()
        case .startServer: try await self.world.needLab().start()
        case .keep(let names): try await self.keep(names)
        case .operate(let step): try await self.operate(step)
        case .revokeWithCode(let code): try await self.revoke(with: code)
        case .expectScreen(let expectation): try await self.expect(expectation)
        case .expectTrace(let expectation): try self.expect(expectation)
        case .expectServer(let expectation): try await self.expect(expectation)
        case .expectEvent(let expectation): try self.expect(expectation)
        }
    }

    /// What a person does with the app.
    private func use(_ action: Step.Action) async throws(StepProblem) {
        let phone = self.present.phone
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
            self.present.fate.dies(beforeWrite: number)
        case .killApp(atWrite: nil):
            self.present.fate.revive()
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
        default:
            return
        }
    }

    /// Has something happen to the present phone's app.
    func act(_ body: (Phone) async throws(PhoneError) -> Screen) async throws(StepProblem) {
        do throws(PhoneError) {
            _ = try await body(self.present.phone)
        } catch {
            guard !self.present.fate.isDead else {
                await self.present.settle()
                return
            }
            let screen = await self.present.phone.screen
            let offers = screen.actions.map(\.id.rawValue).joined(separator: ", ")
            throw .failed("\(error)", [.init(what: "the screen offers", expected: "what the step does", seen: offers)])
        }
        await self.present.settle()
    }

    func enter(_ pin: String) async throws(StepProblem) {
        let pin = try self.filled(pin)
        try await self.act { (phone) throws(PhoneError) in try await phone.enter(PINInput(typed: Array(pin.utf8))) }
    }

    func present(_ presentation: Presentation) async throws(StepProblem) {
        try await self.act { (phone) throws(PhoneError) in try await phone.present(presentation) }
    }

    /// The clock goes on for server and phones; an app that runs notices at once, as far as it may.
    private func advance(by duration: Duration) async throws(StepProblem) {
        try await self.world.needLab().advance(by: duration)
        guard await self.present.phone.isRunning else { return }
        try await self.act { (phone) throws(PhoneError) in await phone.refresh() }
    }

    private func change(_ change: DeviceChange) throws(StepProblem) {
        do {
            var profile = self.present.phone.device.profile
            try change.apply(to: &profile)
            let changed = profile
            try self.present.phone.device.update { $0 = changed }
        } catch {
            throw .failed("the phone cannot be changed so: \(error)")
        }
    }

    private func enterPasscode() throws(StepProblem) {
        do throws(DeviceError) {
            try self.present.phone.device.unlockWithPasscode()
        } catch {
            throw .failed("the phone cannot be unlocked: \(error)")
        }
    }

    private func keep(_ names: [String: String]) async throws(StepProblem) {
        let values = await self.present.phone.screen.values
        for (name, value) in names {
            guard let value = values[value] else {
                let known = values.keys.sorted().joined(separator: ", ")
                throw .failed("the screen shows no value `\(value)`; there are \(known.isEmpty ? "none" : known)")
            }
            self.kept[name] = value.text
        }
    }

    private func incoming(_ link: LinkText) throws(StepProblem) -> IncomingLink {
        IncomingLink(try self.filled(link.url), from: link.source)
    }
}
