internal import ConfigText
internal import DeviceInterface
internal import SimulatedPhone
internal import Phone
internal import WalletCore
internal import WalletFlows

/// Does with a phone what the lines of a driving program say, one after the other.
struct Driver {
    let phone: Phone
    let printer: Printer

    /// Answers each line; ends with the input or with `quit`.
    func run(_ lines: AsyncStream<DriveInput.Line>) async {
        // The app's own timers go on between the lines.
        let timers = Task { [phone] in
            for await _ in phone.watch() {}
        }
        defer { timers.cancel() }
        self.printer.write(.event("ready", ["platform": .text(self.phone.device.platform.rawValue)]))
        for await line in lines {
            switch line {
            case .failure(let refusal):
                self.printer.write(refusal.line)
            case .success(let command):
                do throws(DriveRefusal) {
                    try await self.perform(command)
                    await self.answer(command)
                } catch {
                    self.printer.write(error.of(command).line)
                }
                if command.name == .quit { return }
            }
        }
    }

    private func answer(_ command: DriveRequest) async {
        let status = WalletExitStatus(await self.phone.obstacle)
        let step = await self.phone.screen.step
        self.printer.write(
            .done(command: command.name.rawValue, id: command.id, status, step: step.isEmpty ? nil : step)
        )
    }

    private func perform(_ command: DriveRequest) async throws(DriveRefusal) {
        switch command.name {
        case .launch:
            let link = try command.link()
            try await self.hold { (phone) throws(PhoneError) in try await phone.launch(opening: link) }
        case .resume:
            let link = try command.link()
            try await self.hold { (phone) throws(PhoneError) in try await phone.resume(opening: link) }
        case .background: try await self.hold { (phone) throws(PhoneError) in try await phone.background() }
        case .end, .quit: await self.phone.endProcess()
        case .tap: try await self.tap(command)
        case .enter:
            guard let pin = command.pin else { throw DriveRefusal(.missingField, "`enter` needs `pin`, a string") }
            try await self.hold { (phone) throws(PhoneError) in try await phone.enter(pin) }
        case .biometric:
            let word = try command.required(command.fields.present, "present")
            let presentation = try command.choice(word, Presentation.self)
            try await self.hold { (phone) throws(PhoneError) in try await phone.present(presentation) }
        case .link:
            _ = try command.required(command.fields.url, "url")
            guard let link = try command.link() else { return }
            try await self.hold { (phone) throws(PhoneError) in try await phone.open(link) }
        case .device: try self.change(command)
        case .session:
            let word = try command.required(command.fields.kind, "kind")
            let session = word == "none" ? nil : try command.choice(word, HostSession.self)
            try await self.hold { (phone) throws(PhoneError) in try await phone.setHostSession(session) }
        case .look:
            let screen = await self.phone.screen
            guard !screen.step.isEmpty else { throw DriveRefusal(.notRunning, PhoneError.notRunning.description) }
            self.printer.write(.screen(screen))
        }
    }

    private func tap(_ command: DriveRequest) async throws(DriveRefusal) {
        let name = try command.required(command.fields.action, "action")
        guard let action = ActionID(rawValue: name) else {
            throw DriveRefusal(unknownAction: name, screen: await self.phone.screen)
        }
        try await self.hold { (phone) throws(PhoneError) in try await phone.tap(action) }
    }

    /// Makes the phone another one: all of the changes or none.
    private func change(_ command: DriveRequest) throws(DriveRefusal) {
        guard let changes = command.fields.changes else { throw DriveRefusal(.missingField, "`device` needs `set`") }
        var profile = self.phone.device.profile
        do throws(ConfigError) {
            for (key, value) in changes.sorted(by: { $0.key < $1.key }) { try profile.set(key, to: value.text) }
        } catch {
            throw DriveRefusal(.badValue, error.description)
        }
        do throws(DeviceError) {
            try self.phone.device.update { $0 = profile }
        } catch {
            throw DriveRefusal(.badValue, error.description)
        }
    }

    /// Does one thing with the phone.
    private func hold(_ body: (Phone) async throws(PhoneError) -> Void) async throws(DriveRefusal) {
        do throws(PhoneError) {
            try await body(self.phone)
        } catch {
            throw DriveRefusal(error, screen: await self.phone.screen)
        }
    }
}
