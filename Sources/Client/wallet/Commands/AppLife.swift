import ArgumentParser
internal import Devices
internal import HostSystem
internal import Phone
internal import Vocabulary
internal import WalletCore
internal import WalletFlows

/// One life of the app process, from launch to the last screen: what a one-shot command is.
struct AppLife {
    let phone: Phone
    let printer: Printer

    /// Runs a command from launch to end, prints how it ended, and ends the process with its exit code.
    static func run(
        _ options: WalletOptions,
        _ body: (AppLife) async throws(CommandFailure) -> ExitStatus
    ) async throws {
        StandardStreams.ignoreBrokenPipes()
        let printer = Printer(isJSON: options.json, showsSteps: options.trace)
        let status: ExitStatus
        do throws(CommandFailure) {
            let phone = try options.phone(skipsSplash: true, observer: printer.hear)
            status = try await body(AppLife(phone: phone, printer: printer))
            await phone.endProcess()
        } catch {
            printer.fail(error)
            throw error.status.exitCode
        }
        printer.finish(status)
        if status != .done { throw status.exitCode }
    }

    func launch() async throws(CommandFailure) -> Screen {
        do throws(PhoneError) {
            return try await self.phone.launch()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Selects an action; that the screen does not offer it is a failure of this program.
    func perform(_ action: ActionID) async throws(CommandFailure) -> Screen {
        do throws(PhoneError) {
            return try await self.phone.tap(action)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Enters a PIN; that the screen asks for none is a failure of this program.
    func enter(_ input: PINInput) async throws(CommandFailure) -> Screen {
        do throws(PhoneError) {
            return try await self.phone.enter(input)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Goes to what the command is named for.
    func open(_ destination: AppStateMachine.Destination) async throws(CommandFailure) -> Screen {
        do throws(PhoneError) {
            return try await self.phone.goTo(destination)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// How the run ended: by what stands in the way, or done if `goal` is reached.
    func status(reached goal: Bool) async -> ExitStatus {
        let status = ExitStatus(await self.phone.obstacle)
        return status == .done && !goal ? .cancelled : status
    }

    /// Six digits, or a usage error: a malformed PIN is no attempt.
    static func sixDigits(_ input: PINInput) throws(CommandFailure) -> PINInput {
        switch input {
        case .complete: return input
        case .malformed: throw .usage("a PIN has exactly six digits")
        }
    }
}

extension WalletOptions {
    /// The phone that the options name, with the device changed as they say.
    func phone(
        skipsSplash: Bool,
        observer: @escaping @Sendable (WalletEvent) -> Void
    ) throws(CommandFailure) -> Phone {
        do throws(PhoneError) {
            let home = try PhoneHome(self.home)
            let settings = try WalletSettings(home: home, lab: self.lab)
            var profile = DeviceProfile(self.device.platform?.platform ?? .android)
            self.device.apply(to: &profile)
            let phone = try Phone(home, settings, new: profile, skipsSplash: skipsSplash, observer: observer)
            try self.device.change(phone.device)
            return phone
        } catch {
            throw CommandFailure(error)
        }
    }
}

extension DeviceOptions {
    /// Makes the device what the options say; its platform is decided already.
    fileprivate func change(_ device: SimulatedDevice) throws(PhoneError) {
        if let platform = self.platform?.platform, platform != device.platform {
            throw .usage("this phone is \(device.platform.rawValue), and stays so")
        }
        guard !self.isEmpty else { return }
        do throws(DeviceError) {
            try device.update(self.apply)
        } catch {
            throw .device(error)
        }
    }
}
