internal import AttestationVerifier
internal import Evidence
internal import Lab
internal import RemotePINServer
internal import ServerSettings
internal import HostSystem
internal import Transport
internal import Vault
internal import Vocabulary

/// What the files that a configuration names hold, found good: everything that can be known before the store is opened.
struct ServerFiles {
    let settings: ServerSettings
    /// Nil for a production server.
    let lab: LabFolder?
    let tls: TLSServerContext
    let vault: KeyFileVault
    let attestations: EvidenceVerifier
    /// Where the verifier's status list comes from; nil where none is configured.
    let statusList: StatusListFile?

    /// Reads them all.
    ///
    /// - Throws: a ``StartFailure`` with everything that is wrong.
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

    /// Reads certificate and key again, by the rules of the start: what is taken now must be taken then.
    func reloadTLS() throws {
        try Self.lookAtTLSFiles(of: self.settings)
        do throws(TLSContextError) {
            try self.tls.reload()
        } catch {
            throw StartFailure(.configuration, Self.text(of: error))
        }
    }

    /// What libssl has no words for, or does not look at.
    private static func lookAtTLSFiles(of settings: ServerSettings) throws {
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

    /// A file that this user may not read is the commonest fault, and libssl has no words for it.
    private static func look(at path: String, _ setting: String) throws {
        do throws(FileError) {
            _ = try DurableFile.read(path, atMost: 1 << 20)
        } catch {
            var text = "`\(setting)`: \(error)"
            if case .notAllowed = error {
                text += "; run this as the server's user (sudo -u), who has to own the file or have its folder opened"
            }
            throw StartFailure(.configuration, text)
        }
    }

    /// What is wrong with certificate or key, for an operator.
    private static func text(of error: TLSContextError) -> String {
        switch error {
        case .certificate(let path, let reason): "`tls.certificate`: \(path) cannot be used: \(reason)"
        case .key(let path, let reason): "`tls.key`: \(path) cannot be used: \(reason)"
        case .keyOfAnotherCertificate(let path): "`tls.key`: \(path) is not the key of `tls.certificate`"
        case .trust, .serverName: "the certificate cannot be used"
        }
    }
}

/// Keeps labs and production apart: a lab's clock can be moved by whoever reaches its socket, and its roots' private
/// keys lie in files.
enum LabBoundary {
    /// The lab that the configuration is of; nil in production.
    static func lab(of loaded: LoadedSettings) throws -> LabFolder? {
        let settings = loaded.settings
        let data = settings[SettingTable.dataFolder]
        guard let path = settings[SettingTable.labFolder] else {
            for folder in [loaded.folder, data] {
                guard let lab = Self.surrounding(folder) else { continue }
                let message = "\(folder) lies in the lab \(lab.path); a production server does not use it"
                throw StartFailure(.configuration, "`lab.folder` is not set, and \(message)")
            }
            return nil
        }
        let lab = LabFolder(ConfigurationOptions.absolute(path))
        guard lab.isLab else {
            throw StartFailure(.configuration, "`lab.folder`: there is no lab in \(lab.path)")
        }
        guard Self.surrounding(data) == lab else {
            throw StartFailure(
                .configuration,
                "`lab.folder` is set, and `data.folder` does not lie in that lab: a store's clock must not change sides"
            )
        }
        return lab
    }

    /// The lab that a folder lies in.
    private static func surrounding(_ folder: String) -> LabFolder? {
        var path = ConfigurationOptions.absolute(folder)
        while path != "/", !path.isEmpty {
            if LabFolder(path).isLab { return LabFolder(path) }
            path = ConfigurationOptions.folder(of: path)
        }
        return nil
    }
}
