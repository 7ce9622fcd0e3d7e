internal import ArgumentParser
internal import ConfigText
internal import Foundation
internal import Lab
internal import ServerSettings
internal import HostSystem
internal import Vault
internal import WalletStore

/// Makes a server's folder.
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a server's folder: configuration, vault key and an empty store.",
        discussion: """
            Without --lab nothing is invented: the certificate, the apps that may register and everything else that only \
            its operator knows has to be named in server.yaml, where every setting is explained.

            With --lab the folder is ready to be served: a test authority stands in for Google, Apple and a certificate \
            authority, wallets use it with `wallet app --lab DIR`, and its clock can be moved.

            With --config nothing but what a configuration names is made, vault key and empty store: for a package or an \
            image that brings a configuration of its own.

            What exists is never overwritten.
            """
    )

    @Flag(help: "Make a lab for tests, with an authority, a certificate and a clock of its own.")
    var lab = false

    @Option(
        help: ArgumentHelp("Make what this configuration names: vault key and store.", valueName: "file"),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    @Argument(help: ArgumentHelp("The folder to make.", valueName: "dir"), completion: .directory)
    var folder: String?

    func validate() throws {
        guard (self.folder == nil) != (self.config == nil) else {
            throw ValidationError("Name the folder to make, or a configuration with --config.")
        }
        guard !self.lab || self.config == nil else { throw ValidationError("A lab is made in a folder: --lab DIR.") }
    }

    func run() async throws {
        try await ending {
            if let config { return try await Self.makeState(of: ConfigurationOptions.absolute(config)) }
            let folder = ConfigurationOptions.absolute(self.folder ?? ".")
            if self.lab {
                try await LabLayout(LabFolder(folder)).make()
                StandardStreams.writeOutput("made the lab \(folder)\n  serve it: remote-pin-server lab up \(folder)\n")
            } else {
                try await ServerLayout(folder: folder).make()
                StandardStreams.writeOutput(
                    """
                    made \(folder)
                      edit:  \(folder)/server.yaml (certificate, apps that may register)
                      check: remote-pin-server check-config \(folder)
                      serve: remote-pin-server serve \(folder)
                    keep a copy of \(folder)/vault.key apart from the store: without it no wallet opens again

                    """
                )
            }
        }
    }
}

extension InitCommand {
    /// Vault key and store where a configuration has them; what else is in it need not be complete yet.
    private static func makeState(of path: String) async throws {
        let text = try explaining(.configuration, "the configuration cannot be read") {
            String(decoding: try DurableFile.read(path, atMost: 1 << 20), as: UTF8.self)
        }
        let folder = ConfigurationOptions.folder(of: path)
        let settings = try explaining(.configuration, "the configuration is not used") {
            try ServerSettings(
                file: ConfigFile(path: path, folder: folder, text: text),
                environment: ProcessInfo.processInfo.environment,
                currentFolder: FileManager.default.currentDirectoryPath,
                sections: ["data", "vault"]
            )
        }
        let (key, data) = (settings[SettingTable.vaultKeyFile], settings[SettingTable.dataFolder])
        // A new key beside an old store would open none of its wallets.
        guard !DurableFile.exists(key) else { throw StartFailure(.files, "\(key) exists; nothing was changed") }
        try requireEmpty(data)
        try await ServerLayout.makeState(vaultKey: key, data: data)
        StandardStreams.writeOutput("made \(key) and an empty store in \(data)\n")
    }
}

/// A server's folder in production: server.yaml, vault.key, data/.
struct ServerLayout {
    let folder: String

    func make() async throws {
        try requireEmpty(self.folder)
        try explaining(.files) {
            try DurableFile.makeFolder(self.folder)
        }
        try await Self.makeState(vaultKey: "\(self.folder)/vault.key", data: "\(self.folder)/data")
        let text = ConfigurationFile.text(heading: "The configuration of a remote-PIN server.")
        // Last, so that a folder with a configuration has everything else.
        try explaining(.files) {
            try DurableFile.create(Array(text.utf8), at: "\(self.folder)/server.yaml", mode: 0o640)
        }
    }

    /// The vault's key and an empty store.
    static func makeState(vaultKey: String, data: String) async throws {
        try explaining(.files) {
            try KeyFileVault.create(at: vaultKey)
            try DurableFile.makeFolder(data)
        }
        let store = try explaining(.files, "the store was not made") {
            try SQLiteWalletStore.open(folder: data, creating: true)
        }
        await store.close()
    }
}

/// A lab's folder, ready to be served.
struct LabLayout {
    private let lab: LabFolder

    init(_ lab: LabFolder) {
        self.lab = lab
    }

    func make() async throws {
        try requireEmpty(self.lab.path)
        try explaining(.files) {
            try DurableFile.makeFolder(self.lab.path)
            try DurableFile.makeFolder(self.lab.serverFolder)
        }
        try self.makeAuthority()
        try await ServerLayout.makeState(vaultKey: self.lab.vaultKeyFile, data: self.lab.dataFolder)
        try explaining(.files) {
            try DurableFile.write(Array("0\n".utf8), to: self.lab.clockFile)
            try DurableFile.write(Array(self.configuration.utf8), to: self.lab.configurationFile)
        }
        let file = LabFile(
            host: "127.0.0.1",
            port: 0,
            serverName: "localhost",
            caFile: "\(self.lab.authorityFolder)/\(LabAuthority.File.tlsAuthority)",
            authority: self.lab.authorityFolder,
            clockFile: self.lab.clockFile,
            server: self.lab.serverFolder
        )
        // Last, so that a folder with a lab.yaml is a whole lab.
        try explaining(.files) { try file.write(to: self.lab) }
    }

    private func makeAuthority() throws {
        try explaining(.files, "the lab's authority was not made") {
            let authority = try LabAuthority.create(in: self.lab.authorityFolder)
            let (chain, key) = authority.issueTLSServerCertificate(names: ["localhost", "127.0.0.1", "::1"])
            try DurableFile.write(Array(chain.utf8), to: self.lab.certificateFile)
            try DurableFile.write(Array(key.utf8), to: self.lab.certificateKeyFile)
        }
    }

    /// The settings in which a lab differs from the defaults.
    private var configuration: String {
        let digest = LabApp.androidSigningDigest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        let socket = self.lab.socketPath(runtimeFolder: ProcessEnvironment.runtimeFolder)
        return ConfigurationFile.text(
            setting: [
                "listen.address": "127.0.0.1:0",
                "tls.certificate": "tls.pem",
                "tls.key": "tls.key",
                "admin.socket": "'\(socket)'",
                "portal.socket": "'\(ConfigurationOptions.folder(of: socket))/portal.sock'",
                // Several labs may be tried side by side.
                "portal.listen": "127.0.0.1:0",
                "observation.listen": "127.0.0.1:0",
                // All the load of a lab comes from one machine.
                "limits.frames-per-source": "0",
                "limits.enrollments-per-source": "0",
                "android.apps": "['\(LabApp.androidPackage):\(digest.joined()):2']",
                "android.patch-level": "2025-01",
                "android.vendor-patch-level": "2025-01-01",
                "android.boot-patch-level": "2025-01-01",
                "android.roots": "[../authority/\(LabAuthority.File.androidRoot)]",
                "android.status-list": "../authority/\(LabAuthority.File.statusList)",
                // The list's age is the file's, and a lab's clock may be moved by years.
                "android.stale-status-list": "warn",
                "ios.apps": "[\(LabApp.iOSTeam).\(LabApp.iOSBundle)]",
                "ios.roots": "[../authority/\(LabAuthority.File.appleRoot)]",
                "log.file": "server.log",
                "lab.folder": "..",
            ],
            heading: "The configuration of a lab's server. Port 0 takes a free port, and the same one ever after."
        )
    }
}

/// Refuses a folder in which something lies already.
func requireEmpty(_ folder: String) throws {
    guard DurableFile.exists(folder) else { return }
    let names = DurableFile.isFolder(folder) ? (try? DurableFile.names(in: folder)) ?? [""] : [""]
    guard names.isEmpty else {
        throw StartFailure(.files, "\(folder) exists and is not an empty folder; nothing was changed")
    }
}
