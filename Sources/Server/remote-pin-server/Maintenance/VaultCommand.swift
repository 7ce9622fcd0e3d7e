internal import ArgumentParser
internal import HostSystem
internal import Vocabulary
internal import Wire

/// Commands about the vault keys of a running server.
struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Show, rotate and retire the vault's keys, while the server serves.",
        subcommands: [Status.self, Rotate.self, Retire.self]
    )

    /// Shows the key versions.
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show the key versions, the number of values sealed with each, and a rotation's progress.",
            discussion: """
                Reads every wallet, a few hundred at a time. A version that sealed values and is not in the key file is \
                `MISSING`: find a copy of the file that contains it.

                  remote-pin-server vault status --lab /tmp/lab
                """
        )

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                try await self.server.connected { call in
                    guard case .vaultKeys(let versions) = try await call(.showVaultKeys),
                        case .status(let status) = try await call(.showStatus)
                    else { throw StartFailure.unexpectedAnswer }
                    self.output.print(KeysJSON(versions, status.reseal, inFile: status.keyVersions)) { page in
                        page.draw(versions, inFile: status.keyVersions)
                        if let reseal = status.reseal { page.line("resealing: \(reseal.spoken)") }
                    }
                }
            }
        }
    }

    /// Adds a version.
    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Add a key version that seals new values, and reseal the values of older versions.",
            discussion: """
                Copy the key file before and after: a store is useless without the version that sealed it. The server \
                continues the rotation after this command ends and after a restart; no client waits for it. The keys for \
                the lookup of recovery codes and for the audit log are not rotated. A further rotation is rejected until \
                this one is finished and the enrollments from before it have expired (exit status 77).

                  remote-pin-server vault rotate --config server.yaml
                  remote-pin-server vault rotate --yes --lab /tmp/lab
                """
        )

        @Flag(help: "Skip the question; for scripts.")
        var yes = false

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                if !self.yes {
                    try Phrase.ask(
                        "the key file is copied",
                        because: "First copy the key file (`vault.key-file`) to the place of its other copies."
                    )
                }
                let reseal = try await self.server.connected { call in try await Self.rotate(call) }
                self.output.print(ResealJSON(reseal)) { page in
                    page.line("\(page.good("rotated")): version \(reseal.version) seals, \(reseal.spoken)")
                    page.line("copy the key file again: older copies do not open values sealed from now on")
                }
            }
        }

        private static func rotate(
            _ call: (Wire.AdminCommand) async throws -> AdminResult
        ) async throws -> ResealReport {
            let patience = Patience()
            var progress = ProgressLine()
            defer { progress.end() }
            var answer = try await call(.rotateVault)
            while true {
                guard case .upkeep(let report) = answer, let reseal = report.reseal else {
                    throw StartFailure.unexpectedAnswer
                }
                guard reseal.state == .running else { return reseal }
                progress.show("resealing", reseal.walletsDone, of: reseal.wallets)
                try await patience.wait()
                answer = try await call(.showUpkeep)
            }
        }
    }

    /// Removes unused versions.
    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retire",
            abstract: "Remove the key versions that no sealed value needs.",
            discussion: """
                Older backups need them: keep a copy of the key file for as long as you keep those backups. If no version \
                can be removed yet, prints the reason and the earliest time, and ends with status 77.

                  remote-pin-server vault retire --config server.yaml
                """
        )

        @Flag(help: "Skip the question; for scripts.")
        var yes = false

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                if !self.yes {
                    try Phrase.ask(
                        "the key file is copied",
                        because: "Earlier backups need the versions that are removed. First copy the key file."
                    )
                }
                guard case .vaultKeys(let versions) = try await self.server.call(.retireVault) else {
                    throw StartFailure.unexpectedAnswer
                }
                let inFile = versions.map(\.version)
                self.output.print(KeysJSON(versions, nil, inFile: inFile)) { $0.draw(versions, inFile: inFile) }
            }
        }
    }

    private struct KeysJSON: Encodable {
        let versions: [Version]
        let reseal: ResealJSON?

        struct Version: Encodable {
            let version: UInt32
            let active: Bool
            let values: Int
            let activeSince: String?
            let retirable: Bool
            let inKeyFile: Bool
        }

        init(_ versions: [VaultKeyVersion], _ reseal: ResealReport?, inFile: [UInt32]) {
            self.versions = versions.map {
                Version(
                    version: $0.version,
                    active: $0.isActive,
                    values: $0.values,
                    activeSince: $0.activeSince?.text,
                    retirable: $0.isRetirable,
                    inKeyFile: inFile.contains($0.version)
                )
            }
            self.reseal = reseal.map(ResealJSON.init)
        }
    }
}

/// A rotation's progress as JSON.
struct ResealJSON: Encodable {
    let version: UInt32
    let state: String
    let walletsDone: Int
    let wallets: Int
    let problem: String?

    init(_ report: ResealReport) {
        self.version = report.version
        self.state = "\(report.state)"
        self.walletsDone = report.walletsDone
        self.wallets = report.wallets
        self.problem = report.problem
    }
}

extension ResealReport {
    /// The progress as a phrase.
    var spoken: String {
        switch self.state {
        case .done: "all values are sealed with it"
        case .running: "\(self.walletsDone) of \(self.wallets) wallets done"
        case .failed: "interrupted and retried: \(self.problem ?? "")"
        }
    }
}

extension Page {
    fileprivate mutating func draw(_ versions: [VaultKeyVersion], inFile: [UInt32]) {
        let rows = versions.map { version in
            [
                "\(version.version)",
                !inFile.contains(version.version)
                    ? self.bad("MISSING")
                    : version.isActive ? self.good("seals") : version.isRetirable ? "not needed" : "opens",
                "\(version.values)", version.activeSince?.text ?? "",
            ]
        }
        self.table(["VERSION", "STATE", "VALUES", "ACTIVE SINCE"], rows)
    }
}
