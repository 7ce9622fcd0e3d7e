internal import ConfigText
internal import WalletFlows
internal import Foundation
internal import HostSystem
internal import SimulatedPhone
internal import Vocabulary

/// Executes commands from the controlling program on a phone, one at a time.
struct Driver {
    let phone: Phone
    let printer: Printer

    /// Responds to every line until the end of the input or `quit`, or until an answer cannot be written.
    func run(_ lines: AsyncStream<DriveInput.Line>) async {
        // Handle the app's timers between commands.
        let timers = Task { [phone] in
            while !Task.isCancelled {
                await phone.refresh()
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
        defer { timers.cancel() }
        self.printer.write(.event("ready", ["platform": .text(self.phone.device.platform.rawValue)]))
        if self.printer.isLost { return }
        for await line in lines {
            switch line {
            case .failure(let refusal): self.printer.write(refusal.line)
            case .success(let command):
                do {
                    try await self.perform(command)
                    await self.answer(command)
                } catch {
                    let refusal = DriveRefusal(error, screen: await self.phone.screen)
                    self.printer.write(refusal.of(command).line)
                }
                if command.name == .quit { return }
            }
            if self.printer.isLost { return }
        }
    }

    private func answer(_ command: DriveRequest) async {
        let status = WalletExitStatus(await self.phone.obstacle)
        let step = await self.phone.screen.step
        self.printer.write(
            .done(command: command.name.rawValue, id: command.id, status, step: step.isEmpty ? nil : step)
        )
    }

    private func perform(_ command: DriveRequest) async throws {
        switch command.name {
        case .launch: try await self.phone.perform(.launch(try command.link()))
        case .resume: try await self.phone.perform(.resume(try command.link()))
        case .background: try await self.phone.perform(.background)
        case .end, .quit: try await self.phone.perform(.endProcess)
        case .tap: try await self.tap(command)
        case .enter:
            guard let pin = command.pin else { throw DriveRefusal(.missingField, "`enter` needs `pin`, a string") }
            try await self.enter(pin)
        case .biometric:
            let word = try command.required(command.fields.present, "present")
            let presentation = try command.choice(word, Presentation.self)
            try await self.phone.perform(.present(presentation))
        case .link:
            _ = try command.required(command.fields.url, "url")
            guard let link = try command.link() else { return }
            try await self.phone.perform(.open(link))
        case .device: try self.change(command)
        case .session:
            let word = try command.required(command.fields.kind, "kind")
            let session = word == "none" ? nil : try command.choice(word, HostSession.self)
            try await self.phone.perform(.hostSession(session))
        case .confirm:
            let title = try command.required(command.fields.title, "title")
            let confirmation = try mapError(ConfirmationRequest(title: title, details: command.fields.details ?? "")) {
                (error: ConfirmationError) in DriveRefusal(.badValue, "\(error)")
            }
            try await self.phone.perform(.confirm(confirmation))
        case .look:
            let screen = await self.phone.screen
            guard !screen.step.isEmpty else { throw DriveRefusal(.notRunning, PhoneError.notRunning.description) }
            self.printer.write(.screen(screen))
        }
    }

    /// Enters a PIN.
    ///
    /// A screen that validates an existing PIN ignores an incomplete one, which would otherwise look like a success.
    private func enter(_ pin: PINInput) async throws {
        let step = await self.phone.screen.step
        let screen = try await self.phone.perform(.enter(pin))
        if case .malformed = pin, screen.step == step {
            throw DriveRefusal(.badValue, "a PIN has exactly six digits; the screen ignores any other input")
        }
    }

    private func tap(_ command: DriveRequest) async throws {
        let name = try command.required(command.fields.action, "action")
        guard let action = ActionID(rawValue: name) else {
            throw DriveRefusal(unknownAction: name, screen: await self.phone.screen)
        }
        try await self.phone.perform(.tap(action))
    }

    /// Applies all changes to the phone's profile, or none if one of them is invalid.
    private func change(_ command: DriveRequest) throws {
        guard let changes = command.fields.changes else { throw DriveRefusal(.missingField, "`device` needs `set`") }
        var profile = self.phone.device.profile
        for (key, value) in changes.sorted(by: { $0.key < $1.key }) { try profile.set(key, to: value.text) }
        try self.phone.device.replaceProfile(with: profile)
    }
}

/// Reads lines from the controlling program on a separate thread, so that blocking reads do not delay timers.
enum DriveInput {
    /// A decoded line, or the reason it was rejected.
    typealias Line = Result<DriveRequest, DriveRefusal>

    /// The maximum length of a line in bytes.
    private static let longestLine = 65_536

    /// Returns a stream of lines that finishes at the end of the input.
    static func lines(from descriptor: Int32) -> AsyncStream<Line> {
        let (lines, continuation) = AsyncStream.makeStream(of: Line.self)
        Thread.detachNewThread {
            while let line = self.next(from: descriptor) { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// Reads a line; returns nil at the end of the input.
    private static func next(from descriptor: Int32) -> Line? {
        do {
            return try LineInput.withLineBuffer(from: descriptor, atMost: self.longestLine) { line in
                do throws(DriveRefusal) {
                    return .success(try DriveRequest(line))
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            guard error == .tooLong else { return nil }
            return .failure(DriveRefusal(.tooLong, "a line has at most \(self.longestLine) bytes"))
        }
    }
}
