internal import ArgumentParser
internal import ConfigText
internal import Foundation
internal import ServerSettings
internal import HostSystem
internal import StoreMaintenance
internal import Vault

/// Creates a server's folder.
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a server's folder: configuration, vault key and an empty store.",
        discussion: """
            Without --lab, server.yaml must be completed before the server starts: it explains every setting, and the \
            operator must set the certificate, the apps that may register and other values without a default.

            With --lab, runs `remote-pin-lab init`: the folder is ready to be served. A test authority takes the place \
            of Google, Apple and a certificate authority, wallets use it with `wallet app --lab DIR`, and its clock \
            can be moved.

            With --config, creates only the vault key and the empty store that a configuration names: for a package or \
            an image with its own configuration.

            Existing files are never overwritten.
            """
    )

    @Flag(help: "Create a lab for tests, with its own authority, certificate and clock.")
    var lab = false

    @Option(
        help: ArgumentHelp("Create the vault key and store that this configuration names.", valueName: "file"),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    @Argument(help: ArgumentHelp("The folder to create.", valueName: "dir"), completion: .directory)
    var folder: String?

    func validate() throws {
        guard (self.folder == nil) != (self.config == nil) else {
            throw ValidationError("Name the folder to create, or a configuration with --config.")
        }
        guard !self.lab || self.config == nil else { throw ValidationError("A lab needs a folder: --lab DIR.") }
    }

    func run() async throws {
        try await ending {
            if let config { return try await Self.makeState(of: ConfigurationOptions.absolute(config)) }
            let folder = ConfigurationOptions.absolute(self.folder ?? ".")
            if self.lab { try SiblingProgram.lab.run(["init", folder]) }
            try await ServerLayout(folder: folder).create()
            StandardStreams.writeOutput(
                """
                created \(folder)
                  edit:  \(folder)/server.yaml (certificate, apps that may register)
                  check: remote-pin-server check-config \(folder)
                  serve: remote-pin-server serve \(folder)
                keep a copy of \(folder)/vault.key apart from the store: without the key no wallet can be opened

                """
            )
        }
    }
}

extension InitCommand {
    /// Creates the vault key and store named in a configuration, whose other settings may be incomplete.
    private static func makeState(of path: String) async throws {
        let text = try explaining(.configuration, "the configuration cannot be read") {
            try DurableFile.readText(path, atMost: 1 << 20)
        }
        let folder = ConfigurationOptions.folder(of: path)
        let settings = try explaining(.configuration, "the configuration is not used") {
            try ServerSettings(
                file: ConfigFile(path: path, folder: folder, text: text),
                environment: ProcessInfo.processInfo.environment,
                currentFolder: FileManager.default.currentDirectoryPath,
                sections: ["data", "vault", "store"]
            )
        }
        let (key, data) = (settings[SettingTable.vaultKeyFile], settings[SettingTable.dataFolder])
        // A new key could not open the wallets in an existing store.
        guard !DurableFile.exists(key) else {
            throw StartFailure(
                .files,
                "\(key) exists, so this server was created before; nothing was changed. If its store is missing from "
                    + "\(data), mount the volume, or restore a backup with `remote-pin-server restore`"
            )
        }
        if settings[SettingTable.storeKind] == .postgreSQL {
            try explaining(.files) { try KeyFileVault.create(at: key) }
            StandardStreams.writeOutput(
                "created \(key); create the store with `remote-pin-server store init`, copy the key to each server\n"
            )
            return
        }
        try explaining(.files) { try NewServerState.requireUnused(data) }
        try await ServerLayout.createState(vaultKey: key, data: data)
        StandardStreams.writeOutput("created \(key) and an empty store in \(data)\n")
    }
}

/// The files in a production server's folder: server.yaml, vault.key, data/.
struct ServerLayout {
    let folder: String

    func create() async throws {
        try explaining(.files) { try NewServerState.requireUnused(self.folder) }
        try explaining(.files) { try DurableFile.makeFolder(self.folder) }
        try await Self.createState(vaultKey: "\(self.folder)/vault.key", data: "\(self.folder)/data")
        let text = ConfigurationFile.text(heading: "The configuration of a remote-PIN server.")
        // Write the configuration last: a folder that has one is complete.
        try explaining(.files) {
            try DurableFile.create(Array(text.utf8), at: "\(self.folder)/server.yaml", mode: 0o640)
        }
    }

    /// Creates the vault key and an empty store.
    static func createState(vaultKey: String, data: String) async throws {
        try await mapError(of: await NewServerState.create(vaultKey: vaultKey, data: data)) { (error: any Error) in
            StartFailure(.files, "\(error)")
        }
    }
}
