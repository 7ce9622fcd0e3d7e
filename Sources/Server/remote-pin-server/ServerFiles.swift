internal import Administration
internal import AdminProtocol
internal import AttestationVerifier
internal import ConfigText
internal import Evidence
internal import Foundation
internal import HostSystem
internal import LabFiles
internal import RemotePINServer
internal import ServerSettings
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore

/// The checked contents of all files named in a configuration.
///
/// This includes every check that is possible before the store is opened.
struct ServerFiles {
    let settings: ServerSettings
    /// Reads the configuration again, for a reload.
    let again: @Sendable () throws -> LoadedSettings
    /// The lab's folder, or nil for a production server.
    let lab: LabFolder?
    let tls: TLSServerContext
    let vault: KeyFileVault
    let attestations: EvidenceVerifier
    /// The file containing the verifier's status list, or nil if none is configured.
    let statusList: StatusListFile?
    /// The settings for the PostgreSQL database, or nil if the store is embedded.
    let database: DatabaseSettings?

    /// The settings that must be the same on all servers sharing a database.
    var policy: [String: String] { ServerPolicy.values(self.settings, self.attestations) }

    /// Reads and checks all files.
    ///
    /// - Parameter patience: The time to wait for a module that does not answer.
    /// - Throws: A ``StartFailure`` that lists every problem.
    init(_ loaded: LoadedSettings, patience: Duration = .zero) async throws {
        var checked = CheckedFiles(loaded)
        await checked.openVault(loaded.settings, patience: patience)
        guard checked.problems.isEmpty, let lab = checked.lab, let tls = checked.tls, let vault = checked.vault,
            let attestations = checked.attestations, let statusList = checked.statusList,
            let database = checked.database
        else {
            let failures = checked.problems.map { $0.error as? StartFailure }
            if let failure = failures.first ?? nil, failures.allSatisfy({ $0?.kind == .unavailable }) { throw failure }
            let texts = checked.problems.map { "\($0.error)" }
            throw StartFailure(.configuration, "the configuration is not used:\n" + texts.joined(separator: "\n"))
        }
        self.settings = loaded.settings
        self.again = loaded.again
        self.lab = lab
        self.tls = tls
        self.vault = vault
        self.attestations = attestations
        self.statusList = statusList
        self.database = database
    }

    fileprivate static func tls(_ settings: ServerSettings) throws -> TLSServerContext {
        try Self.lookAtTLSFiles(of: settings)
        return try mapError(
            TLSServerContext(
                certificateFile: settings[SettingTable.tlsCertificate],
                keyFile: settings[SettingTable.tlsKey]
            ),
            to: Self.failure
        )
    }

    /// Checks the TLS files for faults that libssl does not detect or describes poorly.
    static func lookAtTLSFiles(of settings: ServerSettings) throws {
        let key = settings[SettingTable.tlsKey]
        try Self.look(at: settings[SettingTable.tlsCertificate], "tls.certificate")
        try Self.look(at: key, "tls.key")
        let mode = try explaining(.configuration, "`tls.key`") { try DurableFile.mode(of: key) }
        guard mode & 0o077 == 0 else {
            let digits = String(mode & 0o777, radix: 8)
            throw StartFailure(
                .configuration,
                "`tls.key`: \(key) has mode 0\(digits); others must not read it (chmod 600)"
            )
        }
    }

    /// Checks that this user can read a file.
    ///
    /// Unreadable files are the most common fault, and libssl reports no useful message for them.
    private static func look(at path: String, _ setting: String) throws {
        do throws(FileError) {
            _ = try DurableFile.read(path, atMost: 1 << 20)
        } catch {
            var text = "`\(setting)`: \(error)"
            if case .notAllowed = error {
                text += "; run this as the server's user (sudo -u), which needs read access to the file and its folder"
            }
            throw StartFailure(.configuration, text)
        }
    }
}

/// The files named in a configuration, and every problem found in them.
struct CheckedFiles {
    /// A part of the configuration that refers to files.
    enum Part {
        case lab, clock, rights, certificate, vault, database, devices, statusList, hook, witness, roles
    }

    private(set) var problems: [(part: Part, error: any Error)] = []
    /// Nil if it cannot be used, like the other members.
    ///
    /// For a production server, the lab is `.some(nil)`.
    private(set) var lab: LabFolder??
    private(set) var tls: TLSServerContext?
    private(set) var vault: KeyFileVault?
    private(set) var attestations: EvidenceVerifier?
    private(set) var statusList: StatusListFile??
    /// `.some(nil)` if the store is embedded.
    private(set) var database: DatabaseSettings??

    /// Reads and checks all files except the vault's.
    init(_ loaded: LoadedSettings) {
        let settings = loaded.settings
        let lab = self.take(.lab) { try LabBoundary.lab(of: loaded) }
        self.lab = lab
        self.take(.clock) { if let lab = lab.flatMap(\.self) { _ = try FollowedLabClock(file: lab.clockFile) } }
        self.take(.rights) { try FileRights.check(settings) }
        self.tls = self.take(.certificate) { try ServerFiles.tls(settings) }
        self.database = self.take(.database) { try DatabaseSettings.named(by: settings) }
        let statusList = self.take(.statusList) { try AttestationSettings.statusList(settings) }
        let isLab = lab.flatMap(\.self) != nil
        self.statusList = statusList
        self.attestations = self.take(.devices) {
            try AttestationSettings.verifier(settings, isLab: isLab, statusList: statusList.flatMap(\.self))
        }
        self.take(.hook) { try Self.checkProgram(SettingTable.hookProgram, settings) }
        self.take(.witness) { try Self.checkProgram(SettingTable.witnessProgram, settings) }
        self.take(.roles) { try AdminRoles(settings) }
    }

    /// Reads the key file and the keys in the module.
    mutating func openVault(_ settings: ServerSettings, patience: Duration = .zero) async {
        do {
            self.vault = try await KeyFileVault.open(settings, patience: patience)
        } catch {
            self.problems.append((.vault, error))
        }
    }

    @discardableResult
    private mutating func take<Value>(_ part: Part, _ read: () throws -> Value) -> Value? {
        do {
            return try read()
        } catch {
            self.problems.append((part, error))
            return nil
        }
    }

    /// Checks that a program can be started.
    ///
    /// Sockets are not checked, because they may appear after the server starts.
    private static func checkProgram(_ setting: Setting<String?>, _ settings: ServerSettings) throws {
        guard let path = settings[setting] else { return }
        guard !DurableFile.isFolder(path), FileManager.default.isExecutableFile(atPath: path) else {
            throw StartFailure(
                .configuration,
                "`\(setting.name)`: \(path) is not a program that this user may run; check its path and mode"
            )
        }
    }
}

/// Keeps labs separate from production.
///
/// Any client of a lab's admin socket can move the lab's clock, and the private keys of a lab's roots are stored in
/// files.
enum LabBoundary {
    /// The lab that a configuration belongs to, or nil in production.
    static func lab(of loaded: LoadedSettings) throws -> LabFolder? {
        let settings = loaded.settings
        let data = settings[SettingTable.dataFolder]
        guard let path = settings[SettingTable.labFolder] else {
            for folder in [loaded.folder, data] {
                guard let lab = Self.surrounding(folder) else { continue }
                let message = "\(folder) lies in the lab \(lab.path), which a production server must not use"
                throw StartFailure(.configuration, "`lab.folder` is not set, and \(message)")
            }
            return nil
        }
        let lab = LabFolder(ConfigurationOptions.absolute(path))
        guard lab.isLab else {
            throw StartFailure(.configuration, "`lab.folder`: \(lab.path) is not a lab's folder")
        }
        guard Self.surrounding(data) == lab else {
            throw StartFailure(
                .configuration,
                "`lab.folder` is set, but `data.folder` is outside that lab: a store must not switch between two clocks"
            )
        }
        return lab
    }

    /// The lab's clock, that of all servers of the store, or this machine's.
    static func clock(of lab: LabFolder?, _ lease: (any ServerLease)? = nil) throws -> any WallClock {
        guard let lab else { return lease?.clock ?? SystemClock() }
        return try explaining(.files, "the lab's clock cannot be used") { try LabClock(file: lab.clockFile) }
    }

    /// The lab that contains a folder, or nil if there is none.
    private static func surrounding(_ folder: String) -> LabFolder? {
        var path = ConfigurationOptions.absolute(folder)
        while path != "/", !path.isEmpty {
            if LabFolder(path).isLab { return LabFolder(path) }
            path = ConfigurationOptions.folder(of: path)
        }
        return nil
    }
}

extension KeyFileVault {
    /// Opens the vault that the settings name.
    ///
    /// - Parameter patience: The time to wait for a module that does not answer.
    static func open(_ settings: ServerSettings, patience: Duration = .zero) async throws(StartFailure) -> KeyFileVault
    {
        let module = settings[SettingTable.vaultSocket].map { socket in
            ModuleKeys(
                socket: socket,
                connections: settings[SettingTable.vaultConnections],
                timeLimit: settings[SettingTable.vaultTimeLimit]
            )
        }
        let end = ContinuousClock.now + patience
        while true {
            do throws(KeyFileError) {
                return try await KeyFileVault(settings[SettingTable.vaultKeyFile], module: module)
            } catch .unreachable(let path, let socket, let reason) {
                // A cancelled start does not wait.
                guard .now < end, (try? await Task.sleep(for: .seconds(1))) != nil else {
                    throw StartFailure(
                        .unavailable,
                        "\(KeyFileError.unreachable(path, socket: socket, reason: reason))"
                    )
                }
            } catch {
                throw StartFailure(.configuration, "\(error)")
            }
        }
    }
}

extension ServerFiles {
    /// The faults in the current certificate.
    ///
    /// A start only logs them as warnings, since a stopped server is no use to wallets. ``reloadTLS()`` rejects such a
    /// certificate.
    var certificateProblems: [Problem] { Self.certificateProblems(self.tls, self.settings) }

    static func certificateProblems(_ tls: TLSServerContext, _ settings: ServerSettings) -> [Problem] {
        // Use the system clock, even in a lab: wallets verify certificates by their phones' clocks.
        tls.faults(at: SystemClock().now()).map { fault in
            let path = settings[SettingTable.tlsCertificate]
            return Problem(
                "`tls.certificate`: \(path): \(fault.text)",
                cure: "install a renewed certificate and run `admin reload`"
            )
        }
    }

    /// Reloads the certificate and key.
    ///
    /// The rules are those of a start, so that the next start also accepts them. A certificate that wallets would
    /// reject never replaces one that they accept.
    func reloadTLS() throws {
        try Self.lookAtTLSFiles(of: self.settings)
        try mapError(self.tls.reload(at: SystemClock().now()), to: Self.failure)
    }

    /// Converts a problem with a certificate or key into an error message for the operator.
    static func failure(_ error: TLSContextError) -> StartFailure {
        let text =
            switch error {
            case .certificate(let path, let reason): "`tls.certificate`: \(path) cannot be used: \(reason)"
            case .key(let path, let reason): "`tls.key`: \(path) cannot be used: \(reason)"
            case .keyOfAnotherCertificate(let path): "`tls.key`: \(path) is not the key of `tls.certificate`"
            case .faults(let path, let faults):
                "`tls.certificate`: wallets reject \(path): \(faults.map(\.text).joined(separator: "; "))"
            case .trust, .serverName: "cannot use the certificate"
            }
        return StartFailure(.configuration, text)
    }
}

extension CertificateFault {
    fileprivate var text: String {
        switch self {
        case .expired(let place, let since): "\(Self.name(place)) expired on \(since.text)"
        case .expiresSoon(let place, let end): "\(Self.name(place)) expires soon, on \(end.text)"
        case .notYetValid(let place, let start): "\(Self.name(place)) is not valid before \(start.text)"
        case .otherIssuer(let place):
            "\(Self.name(place)) was not issued by certificate \(place + 1) of the file; the server's certificate "
                + "comes first, then its issuer, and so on"
        case .noNames: "the certificate has no subject alternative name, and wallets ignore the common name"
        }
    }

    private static func name(_ place: Int) -> String {
        place == 1 ? "the certificate" : "certificate \(place) of the file"
    }
}
