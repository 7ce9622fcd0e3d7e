internal import AttestationVerifier
internal import Evidence
internal import LabFiles
internal import RemotePINServer
internal import ServerCommandLine
internal import ServerSettings
internal import HostSystem
internal import Transport
internal import Vault
internal import Vocabulary

/// The checked contents of all files that a configuration names: every check that is possible before the store is
/// opened.
struct ServerFiles {
    let settings: ServerSettings
    /// Nil for a production server.
    let lab: LabFolder?
    let tls: TLSServerContext
    let vault: KeyFileVault
    let attestations: EvidenceVerifier
    /// The file of the verifier's status list; nil if none is configured.
    let statusList: StatusListFile?

    /// Reads all files.
    ///
    /// - Throws: A ``StartFailure`` that lists every problem.
    init(_ loaded: LoadedSettings) throws {
        let settings = loaded.settings
        var problems: [String] = []
        @discardableResult func take<Value>(_ body: () throws -> Value) -> Value? {
            do {
                return try body()
            } catch {
                problems.append("\(error)")
                return nil
            }
        }
        let lab = take { try LabBoundary.lab(of: loaded) }
        take { try FileRights.check(settings) }
        let tls = take { try Self.tls(settings) }
        let vault = take { try KeyFileVault(settings[SettingTable.vaultKeyFile]) }
        let statusList = take { try AttestationSettings.statusList(settings) }
        let attestations = take {
            try AttestationSettings.verifier(
                settings,
                isLab: lab.flatMap(\.self) != nil,
                statusList: statusList.flatMap(\.self)
            )
        }
        take { try Hooks.check(settings) }
        take { try RunningServer.checkWitness(settings) }
        guard let lab, let tls, let vault, let attestations, let statusList, problems.isEmpty else {
            throw StartFailure(.configuration, "the configuration is not used:\n" + problems.joined(separator: "\n"))
        }
        self.settings = settings
        self.lab = lab
        self.tls = tls
        self.vault = vault
        self.attestations = attestations
        self.statusList = statusList
    }

    private static func tls(_ settings: ServerSettings) throws -> TLSServerContext {
        try Self.lookAtTLSFiles(of: settings)
        do throws(TLSContextError) {
            return try TLSServerContext(
                certificateFile: settings[SettingTable.tlsCertificate],
                keyFile: settings[SettingTable.tlsKey]
            )
        } catch {
            throw StartFailure(.configuration, Self.text(of: error))
        }
    }

    /// Checks the files for faults that libssl does not check or describes poorly.
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

    /// Checks that this user can read a file: the most common fault is that it cannot, and libssl has no useful message
    /// for it.
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

/// The separation of labs from production.
///
/// A client of a lab's admin socket can move the lab's clock, and the private keys of a lab's roots are in files.
enum LabBoundary {
    /// The lab of a configuration; nil in production.
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

    /// The lab that contains a folder; nil if none does.
    private static func surrounding(_ folder: String) -> LabFolder? {
        var path = ConfigurationOptions.absolute(folder)
        while path != "/", !path.isEmpty {
            if LabFolder(path).isLab { return LabFolder(path) }
            path = ConfigurationOptions.folder(of: path)
        }
        return nil
    }
}
