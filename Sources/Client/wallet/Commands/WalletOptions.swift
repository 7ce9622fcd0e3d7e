import ArgumentParser
internal import Devices
internal import Vocabulary

/// What every command takes: which wallet, which server, which output.
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

    @Flag(help: "Print one JSON object a line (docs/wallet-output.schema.json).")
    var json = false

    @Flag(help: "Print the steps of the flows as they are taken, such as UC2.1/1.3b.")
    var trace = false

    @OptionGroup(title: "Simulated device")
    var device: DeviceOptions
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

    func source() throws(CommandFailure) -> PINSource {
        try PINSource(descriptor: self.pinFd, file: self.pinFile)
    }
}

/// What the simulated phone is; stays so until it is changed.
struct DeviceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("android or ios; decided when the phone is first used.", valueName: "name"))
    var platform: PlatformName?

    @Flag(inversion: .prefixedNo, help: "The phone is rooted or jailbroken.")
    var rooted: Bool?

    @Option(help: ArgumentHelp("The phone's network: on or off.", valueName: "state"))
    var network: NetworkState?

    @Option(help: ArgumentHelp("The app's package, or team and bundle.", valueName: "id"))
    var appID: String?

    @Option(help: ArgumentHelp("The app's version, such as 1.4.0.", valueName: "version"))
    var appVersion: String?

    @Option(help: ArgumentHelp("The operating system's version.", valueName: "version"))
    var osVersion: String?

    @Option(help: ArgumentHelp("The phone's model.", valueName: "text"))
    var model: String?

    @Option(help: ArgumentHelp("Android: the system's patch level, such as 202610.", valueName: "yyyymm"))
    var patchLevel: Int?

    @Option(
        help: ArgumentHelp(
            "What the phone's attestation does wrong, or none.",
            discussion: "One of: \(Fault.allCases.map(\.rawValue).sorted().joined(separator: ", ")).",
            valueName: "name"
        )
    )
    var fault: DeviceFault?

    enum NetworkState: String, ExpressibleByArgument, CaseIterable {
        case on
        case off
    }

    /// Whether any of them was given.
    var isEmpty: Bool {
        self.rooted == nil && self.network == nil && self.appID == nil && self.appVersion == nil
            && self.osVersion == nil && self.model == nil && self.patchLevel == nil && self.fault == nil
    }

    func apply(to profile: inout DeviceProfile) {
        if let rooted = self.rooted { profile.isRooted = rooted }
        if let network = self.network { profile.hasNetwork = network == .on }
        if let appID = self.appID { profile.appID = appID }
        if let appVersion = self.appVersion { profile.appVersion = appVersion }
        if let osVersion = self.osVersion { profile.osVersion = osVersion }
        if let model = self.model { profile.model = model }
        if let patchLevel = self.patchLevel { profile.osPatchLevel = patchLevel }
        if let fault = self.fault { profile.fault = fault.fault }
    }
}

/// A fault by its name, or none.
struct DeviceFault: ExpressibleByArgument {
    let fault: Fault?

    init?(argument: String) {
        if argument == "none" {
            self.fault = nil
        } else if let fault = Fault(rawValue: argument) {
            self.fault = fault
        } else {
            return nil
        }
    }

    static var allValueStrings: [String] { ["none"] + Fault.allCases.map(\.rawValue) }
}

/// A platform by its name.
enum PlatformName: String, ExpressibleByArgument, CaseIterable {
    case android
    case ios

    var platform: Platform {
        switch self {
        case .android: .android
        case .ios: .iOS
        }
    }
}
