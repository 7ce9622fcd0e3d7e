import ArgumentParser
internal import SimulatedPhone
internal import HostSystem
internal import Phone
internal import WalletCore
internal import WalletFlows

/// What every command takes: which wallet, which server, which phone.
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
            "Take server, trust, test authority and clock from this lab.",
            discussion: "Without it, wallet.yaml in the wallet's folder names them.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var lab: String?

    @Option(
        help: ArgumentHelp("The language of the app: en or nl; wallet.yaml's where it is left out.", valueName: "code"),
        completion: .list(Wording.Language.allCases.map(\.rawValue))
    )
    var language: LanguageName?

    @OptionGroup(title: "Simulated device")
    var device: DeviceOptions

    @OptionGroup(title: "Programs in the place of a part of the phone (docs/devices.md, Hooks)")
    var hooks: HookOptions

    /// A language by its code.
    struct LanguageName: ExpressibleByArgument {
        let language: Wording.Language

        init?(argument: String) {
            guard let language = Wording.Language(rawValue: argument) else { return nil }
            self.language = language
        }

        static var allValueStrings: [String] { Wording.Language.allCases.map(\.rawValue) }
    }

    /// The phone that the options name, with the device changed as they say.
    func phone(
        _ behavior: Phone.Behavior,
        report: @escaping @Sendable (String) -> Void = { StandardStreams.writeError("wallet: \($0)\n") },
        observer: @escaping @Sendable (WalletEvent) -> Void
    ) throws(WalletCommandFailure) -> Phone {
        do throws(PhoneError) {
            let home = try PhoneHome(self.home)
            var settings = try WalletSettings(home: home, lab: self.lab)
            if let language = self.language?.language { settings.wording.language = language }
            let phone = try Phone(
                home,
                settings,
                new: try self.device.newProfile(),
                behavior,
                hooks: self.hooks.hooks(report),
                observer: observer
            )
            try self.device.change(phone.device)
            return phone
        } catch {
            throw WalletCommandFailure(error)
        }
    }
}

/// Programs that answer for a part of the phone.
struct HookOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Answers the prompts of the operating system.", valueName: "cmd"))
    var biometricHook: String?

    @Option(help: ArgumentHelp("Is the hardware key: creates and attests, signs or asserts.", valueName: "cmd"))
    var keyHook: String?

    @Option(help: ArgumentHelp("Is the issuer that identifies the phone's owner.", valueName: "cmd"))
    var issuerHook: String?

    /// - Parameter report: Told of every hook that did not do its work.
    func hooks(_ report: @escaping @Sendable (String) -> Void) -> DeviceHooks {
        DeviceHooks(
            biometric: self.biometricHook.map { HookCommand($0) },
            key: self.keyHook.map { HookCommand($0) },
            issuer: self.issuerHook.map { HookCommand($0) },
            report: report
        )
    }
}

/// How a one-shot command talks.
struct WalletOutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON object a line (docs/wallet-output.schema.json).")
    var json = false

    @Flag(help: "Print the steps of the flows as they are taken, such as UC2.1/1.3b.")
    var trace = false
}

/// Where a command's PINs come from.
struct PINOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read PINs from this open descriptor, one a line.",
            discussion: "Where two are needed the old one comes first. Without --pin-fd and --pin-file a prompt asks.",
            valueName: "n"
        )
    )
    var pinFd: Int32?

    @Option(help: ArgumentHelp("Read PINs from this file, one a line.", valueName: "file"), completion: .file())
    var pinFile: String?

    func source() throws(WalletCommandFailure) -> PINSource {
        try PINSource(descriptor: self.pinFd, file: self.pinFile)
    }
}
