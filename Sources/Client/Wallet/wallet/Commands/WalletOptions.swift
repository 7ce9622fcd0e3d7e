import ArgumentParser
internal import HostSystem
internal import SimulatedPhone
internal import Scenarios
internal import WalletCore
internal import WalletFlows

/// A command that uses a phone.
///
/// Each command declares all groups of options itself. In a debug build, swift-argument-parser checks a group each time
/// it reads the group that contains it, so a group in another one makes the start of a command several times slower.
protocol PhoneCommand: AsyncParsableCommand {
    var options: WalletOptions { get }
    var device: DeviceOptions { get }
    var hooks: HookOptions { get }
}

/// The options for the wallet and the server, which every command accepts.
struct WalletOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The wallet's folder.",
            discussion: "Default: $XDG_STATE_HOME/remote-pin/wallet, or ~/.local/state/remote-pin/wallet.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var home: String?

    @Option(
        help: ArgumentHelp(
            "Use server, trust, test authority and clock of this lab.",
            discussion: "Default: the settings in wallet.yaml in the wallet's folder.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var lab: String?

    @Option(
        help: ArgumentHelp("The language of the app: en or nl; default: the one in wallet.yaml.", valueName: "code"),
        completion: .list(Wording.Language.allCases.map(\.rawValue))
    )
    var language: LanguageName?

    struct LanguageName: ExpressibleByArgument {
        let language: Wording.Language

        init?(argument: String) {
            guard let language = Wording.Language(rawValue: argument) else { return nil }
            self.language = language
        }

        static var allValueStrings: [String] { Wording.Language.allCases.map(\.rawValue) }
    }
}

extension PhoneCommand {
    /// Opens the phone and applies the options to its device.
    func phone(
        _ behavior: Phone.Behavior,
        recording: RecordOptions? = nil,
        report: @escaping @Sendable (String) -> Void = { StandardStreams.writeError("wallet: \($0)\n") },
        observer: @escaping @Sendable (WalletEvent) -> Void
    ) async throws -> (phone: Phone, recorder: ScenarioRecorder?) {
        let home = try PhoneHome(self.options.home)
        var settings = try WalletSettings(home: home, lab: self.options.lab)
        if let language = self.options.language?.language { settings.wording.language = language }
        let profile = try self.device.newProfile()
        let recorder = try await recording?.recorder(self, settings, home)
        if let recorder { settings = recorder.settings }
        var behavior = behavior
        // The splash screen disappears after a second without user input, so it is not part of a scenario.
        if recorder != nil { behavior.skipsSplash = true }
        let phone = try Phone(
            home,
            settings,
            new: profile,
            behavior,
            hooks: self.hooks.hooks(report),
            actions: recorder?.actions,
            observer: { event in
                recorder?.note(event)
                observer(event)
            }
        )
        try self.device.change(phone.device)
        return (phone, recorder)
    }
}

/// The options for recording a scenario.
struct RecordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write what is played to this file, as a scenario with an expectation after each step.",
            discussion: """
                Needs --lab and a new phone. An existing scenario is first played on that phone, then continued. Typed \
                PINs are replaced by test PINs.
                """,
            valueName: "file"
        ),
        completion: .file()
    )
    var record: String?

    /// Returns the recorder, if a recording was requested.
    ///
    /// - Throws: An error if the scenario could not be replayed from the same state, because the phone has been used
    ///   before or a program replaces part of it. Also throws if the server is not a lab, since the PIN of a real
    ///   wallet must not be recorded.
    func recorder(
        _ command: some PhoneCommand,
        _ settings: WalletSettings,
        _ home: PhoneHome
    ) async throws -> ScenarioRecorder? {
        guard let record else { return nil }
        guard let lab = command.options.lab.map(Environment.absolute), settings.clockFile != nil else {
            throw WalletCommandFailure.usage("--record works only with a lab: name it with --lab")
        }
        guard !DurableFile.exists(home.deviceFolder) else {
            throw WalletCommandFailure.usage(
                "--record needs a new phone, and \(home.path) has been used; choose another --home"
            )
        }
        guard !command.hooks.isUsed else {
            throw WalletCommandFailure.usage("--record cannot be combined with hooks: a scenario does not run them")
        }
        let path = Environment.absolute(record)
        guard DurableFile.exists(path) else { return try ScenarioRecorder(path, settings, lab: lab) }
        do {
            return try await ScenarioRecorder(continuing: path, settings, lab: lab, on: home)
        } catch {
            throw WalletCommandFailure.usage("\(record) exists already and cannot be continued: \(error)")
        }
    }
}

/// The programs that replace parts of the phone.
struct HookOptions: ParsableArguments {
    static let title = "Programs that replace parts of the phone (docs/devices.md, Hooks)"

    @Option(help: ArgumentHelp("Answer the prompts of the operating system.", valueName: "cmd"))
    var biometricHook: String?

    @Option(help: ArgumentHelp("Replace the hardware key: create, attest and sign.", valueName: "cmd"))
    var keyHook: String?

    @Option(help: ArgumentHelp("Replace the issuer that identifies the phone's owner.", valueName: "cmd"))
    var issuerHook: String?

    var isUsed: Bool { self.biometricHook != nil || self.keyHook != nil || self.issuerHook != nil }

    /// - Parameter report: Called with a message whenever a hook fails.
    func hooks(_ report: @escaping @Sendable (String) -> Void) -> DeviceHooks {
        DeviceHooks(
            biometric: self.biometricHook.map { HookCommand($0) },
            key: self.keyHook.map { HookCommand($0) },
            issuer: self.issuerHook.map { HookCommand($0) },
            report: report
        )
    }
}

/// The output options for one-shot commands.
struct WalletOutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON object per line (docs/wallet-output.schema.json).")
    var json = false

    @Flag(help: "Print each step of the flows, such as UC2.1/1.3b.")
    var trace = false
}

/// The options that determine where a command reads PINs from.
struct PINOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read PINs from this open file descriptor, one per line.",
            discussion: "If two are needed, the old PIN comes first. Default: a prompt at the terminal.",
            valueName: "n"
        )
    )
    var pinFd: Int32?

    @Option(help: ArgumentHelp("Read PINs from this file, one per line.", valueName: "file"), completion: .file())
    var pinFile: String?

    func source() throws -> PINSource { try PINSource(descriptor: self.pinFd, file: self.pinFile) }
}

/// A command that runs the app until a last screen, and prints it.
protocol OneShotCommand: PhoneCommand {
    var output: WalletOutputOptions { get }
}

/// A single process of the app, from launch until a one-shot command reaches its last screen.
struct AppSession {
    let phone: Phone
    let printer: Printer

    /// Runs a command, prints its outcome, and exits with the corresponding exit code.
    ///
    /// - Parameter prepare: Called before the phone is opened; returns whether to go on.
    static func run(
        _ command: some OneShotCommand,
        preparing prepare: () throws -> Bool = { true },
        _ body: (AppSession) async throws -> WalletExitStatus
    ) async throws {
        let printer = Printer(isJSON: command.output.json, showsSteps: command.output.trace)
        let status: WalletExitStatus
        do {
            if try prepare() {
                let phone = try await command.phone(Phone.Behavior(skipsSplash: true), observer: printer.print).phone
                status = try await body(AppSession(phone: phone, printer: printer))
                await phone.endProcess()
            } else {
                status = .cancelled
            }
        } catch {
            let failure = WalletCommandFailure(error)
            printer.fail(failure)
            throw failure.status.exitCode
        }
        printer.finish(status)
        if status != .done { throw status.exitCode }
    }

    /// Returns the command's outcome: the obstacle on the last screen, or done if the goal was reached.
    func status(reached goal: Bool) async -> WalletExitStatus {
        let status = WalletExitStatus(await self.phone.obstacle)
        return status == .done && !goal ? .cancelled : status
    }

    /// Returns the PIN if it has six digits.
    ///
    /// Otherwise throws a usage error, since a malformed PIN does not count as an attempt.
    static func sixDigits(_ input: PINInput) throws -> PINInput {
        switch input {
        case .complete: return input
        case .malformed: throw WalletCommandFailure.usage("a PIN has exactly six digits")
        }
    }
}
