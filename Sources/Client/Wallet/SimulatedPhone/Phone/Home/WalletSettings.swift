package import ConfigText
internal import HostSystem
internal import LabFiles
package import Vocabulary
package import WalletCore
package import WalletFlows

/// A wallet's server, trust, language and rules for locking, read from a lab or the home's wallet.yaml.
package struct WalletSettings: Sendable {
    package var server: TLSDialer.Server
    /// The folder of the authority that attests simulated devices, or nil if they cannot be attested.
    package var authorityFolder: String?
    /// The file that contains the offset of a lab's clock, or nil to use the system time.
    package var clockFile: String?
    package var wording = Wording()
    package var linkBase: String?
    package var lockTimes = LockTimes()
    package var pinAfterEnrollment = false
    package var confirmsWithPrompt = false

    package init(server: TLSDialer.Server) { self.server = server }

    /// Reads the server, trust, authority and clock from a lab.
    package init(lab: String) throws(PhoneError) {
        do {
            let file = try LabFile(of: LabFolder(Environment.absolute(lab)))
            self.server = TLSDialer.Server(
                host: file.host,
                port: file.port,
                name: file.serverName,
                trust: .authority(pem: try Self.contents(of: file.caFile))
            )
            self.authorityFolder = file.authority
            self.clockFile = file.clockFile
        } catch {
            throw PhoneError(error)
        }
    }

    /// Reads the home's wallet.yaml.
    ///
    /// If `lab` is given, it determines the server, trust, authority and clock.
    package init(home: PhoneHome, lab: String?) throws(PhoneError) {
        let file = try WalletFile(home.settingsFile)
        if let lab {
            self = try WalletSettings(lab: lab)
        } else {
            self.server = try file.server()
            self.authorityFolder = file[WalletFile.authority]
        }
        self.wording = file.wording
        self.linkBase = file[WalletFile.linkBase]
        self.lockTimes = file.lockTimes
        self.pinAfterEnrollment = file[WalletFile.pinAfterEnrollment]
        self.confirmsWithPrompt = file[WalletFile.confirmWithPrompt]
    }

    /// Returns the wallet's clock, either the lab's or the system's.
    package func clock() throws(PhoneError) -> any WallClock {
        guard let file = self.clockFile else { return SystemClock() }
        return try mapError(FollowedLabClock(file: file)) { (error: LabError) in
            PhoneError.storage("the lab's clock cannot be read: \(error)")
        }
    }

    static func contents(of path: String) throws(PhoneError) -> [UInt8] {
        try mapError(DurableFile.read(path, atMost: 1 << 20)) { (error: FileError) in PhoneError.usage("\(error)") }
    }
}

/// The settings in a home's wallet.yaml.
///
/// The file and all its settings are optional.
struct WalletFile {
    private let path: String
    private var values: SettingValues

    /// - Throws: A single error that lists every problem in the file.
    init(_ path: String) throws(PhoneError) {
        self.path = path
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let file = try Self.text(path).map { ConfigFile(path: path, folder: folder, text: $0) }
        self.values = SettingValues(SettingsSources(file: file, currentFolder: folder), Self.catalog)
        self.values.reject(
            [Self.caFile],
            if: self.values.isSet(Self.publicKeys) && self.values.isSet(Self.caFile),
            "cannot be combined with `public_keys`: name either the authority or the keys to trust"
        )
        self.values.reject(
            [Self.publicKeys],
            if: self.values.isSet(Self.publicKeys) && self.values[Self.publicKeys].isEmpty,
            "must be a list in brackets of at least one key, such as [6f3a…]"
        )
        self.values.reject(
            [Self.lockWarningAfter, Self.lockAfterInactivity],
            if: self.lockTimes.warning >= self.lockTimes.inactivity,
            Self.warningTooLate
        )
        guard self.values.problems.isEmpty else {
            throw .usage(ConfigError(problems: self.values.problems).description)
        }
    }

    /// Returns the value of an optional setting.
    subscript<Value>(_ setting: Setting<Value>) -> Value { self.values[setting] }

    func server() throws(PhoneError) -> TLSDialer.Server {
        guard let address = self[Self.server] else {
            throw .usage("no server is named: use --lab DIR, or set `server: HOST:PORT` in \(self.path)")
        }
        return TLSDialer.Server(
            host: address.host,
            port: address.port,
            name: self[Self.serverName] ?? address.host,
            trust: try self.trust()
        )
    }

    var wording: Wording {
        var wording = Wording()
        if let language = self[Self.language] { wording.language = language }
        if let product = self[Self.product] { wording.product = product }
        return wording
    }

    var lockTimes: LockTimes {
        var times = LockTimes()
        if let time = self[Self.lockAfterBackground] { times.background = time }
        if let time = self[Self.lockAfterInactivity] { times.inactivity = time }
        // If the file only sets the lock time, scale the warning time along with it.
        times.warning = self[Self.lockWarningAfter] ?? times.inactivity * 4 / 5
        return times
    }

    private func trust() throws(PhoneError) -> TLSDialer.Server.Trust {
        if !self[Self.publicKeys].isEmpty { return .publicKeys(self[Self.publicKeys]) }
        guard let file = self[Self.caFile] else {
            throw .usage("\(self.path): set `ca_file` or `public_keys` to the authority or the keys to trust")
        }
        return .authority(pem: try WalletSettings.contents(of: file))
    }

    /// Returns the contents of the file, or nil if it does not exist.
    private static func text(_ path: String) throws(PhoneError) -> String? {
        try mapError(ifPresent(DurableFile.readText(path, atMost: 65_536))) { (error: FileError) in
            PhoneError.storage("\(error)")
        }
    }
}

extension WalletFile {
    private static let catalog = SettingCatalog([
        Self.server, Self.serverName, Self.caFile, Self.publicKeys, Self.authority, Self.language, Self.product,
        Self.linkBase, Self.lockAfterBackground, Self.lockAfterInactivity, Self.lockWarningAfter,
        Self.pinAfterEnrollment, Self.confirmWithPrompt,
    ])

    fileprivate static let warningTooLate = "must be less than `lock_after_inactivity`"

    static let server = Setting(
        optional: "server",
        .address(ports: 1...65_535, "pin.example.org:7400"),
        "The server's address."
    )
    static let serverName = Setting(
        optional: "server_name",
        .nonempty,
        "The name in the server's certificate; by default the host of `server`."
    )
    static let caFile = Setting(
        optional: "ca_file",
        .path,
        "The PEM file of the authority that signed the server's certificate."
    )
    static let publicKeys = Setting(
        "public_keys",
        .list(of: .word("digest", "64 hexadecimal digits", read: { SHA256Digest(hex: $0) }, write: { $0.description })),
        standard: [],
        "The SHA-256 digests of trusted keys' SubjectPublicKeyInfo, instead of `ca_file`."
    )
    static let authority = Setting(
        optional: "authority",
        .path,
        "The folder of the test authority with which a simulated device attests its key."
    )
    static let language = Setting<Wording.Language?>(optional: "language", .choice, "The language of the texts.")
    static let product = Setting(optional: "product", .nonempty, "The app's name in its texts.")
    static let linkBase = Setting(
        optional: "link_base",
        .text("address", "an address without a query, such as https://wallet.example.org/link") {
            WebAddress($0)?.rest == ""
        },
        "Links below this address belong to the wallet."
    )
    static let lockAfterBackground = Setting(
        optional: "lock_after_background",
        .lockTime,
        "The time in the background after which the wallet locks."
    )
    static let lockAfterInactivity = Setting(
        optional: "lock_after_inactivity",
        .lockTime,
        "The time without input after which the wallet locks."
    )
    static let lockWarningAfter = Setting(
        optional: "lock_warning_after",
        .lockTime,
        "The time without input after which the wallet warns; less than `lock_after_inactivity`."
    )
    static let pinAfterEnrollment = Setting(
        "pin_after_enrollment",
        .flag,
        standard: false,
        "In the fallback mode, requires the PIN once after a biometric was enrolled."
    )
    static let confirmWithPrompt = Setting(
        "confirm_with_prompt",
        .flag,
        standard: false,
        "Whether the phone's prompt confirms the host's actions in the safe biometric mode."
    )
}

/// The settings of the app that a scenario can set, with the values and rules of wallet.yaml.
package enum AppSettings {
    package static let fields: [Field] =
        ([
            WalletFile.language, WalletFile.product, WalletFile.linkBase, WalletFile.lockAfterBackground,
            WalletFile.lockAfterInactivity, WalletFile.lockWarningAfter, WalletFile.pinAfterEnrollment,
            WalletFile.confirmWithPrompt,
        ] as [any SettingDeclaration]).map { Field($0.name, $0.shape, $0.text) }

    /// The warning must come before the lock.
    package static let rule: FieldRule = { value in
        func time(_ setting: any SettingDeclaration) -> Duration? {
            value[setting.name]?.text.flatMap(DurationText.read)
        }
        guard let warning = time(WalletFile.lockWarningAfter),
            warning >= time(WalletFile.lockAfterInactivity) ?? LockTimes().inactivity
        else { return nil }
        return (WalletFile.lockWarningAfter.name, WalletFile.warningTooLate)
    }
}

extension Kind where Value == String {
    fileprivate static var nonempty: Kind {
        .text("text", "a text of at least one character") { !$0.isEmpty && TextLayout.harmless($0) == $0 }
    }
}

extension Kind where Value == Duration {
    fileprivate static var lockTime: Kind { .duration(.milliseconds(1) ... .seconds(86_400)) }
}
