internal import AdminProtocol
package import ArgumentParser
internal import ServerSettings
package import StoreMaintenance
package import Vocabulary

/// `vault status`: shows the versions of the vault's keys and the number of stored values sealed with each.
package struct ShowVaultKeys: AdminCall {
    package static let name = "vault status"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .observer }

    package init() {}

    package func run(in service: AdminService) async throws -> VaultKeysReply {
        VaultKeysReply(
            try await service.operations.maintenance.vaultKeys(),
            inKeyFile: service.operations.keyVersions().all,
            reseal: service.operations.maintenance.report().reseal
        )
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show the key versions, the values that each seals, and the progress of a rotation.",
            discussion: """
                Reads every wallet, some hundreds at a time. A version that sealed a value and is not in the key file \
                is `MISSING`: look for a copy of the file that contains it. IN is the place of the version's root: \
                the key file, or the module behind `vault.socket`.

                  remote-pin-server vault status --lab /tmp/lab
                """
        )

        @OptionGroup var options: CallOptions

        func call() -> ShowVaultKeys { ShowVaultKeys() }

        func draw(_ reply: VaultKeysReply, on page: inout Page) { reply.draw(on: &page) }
    }
}

/// The reply to `vault status` and `vault retire`.
package struct VaultKeysReply: Codable, Hashable, Sendable {
    /// The newest ``mostVersions`` versions, in ascending order.
    package var versions: [Version]
    /// The progress of resealing; omitted if nothing has been resealed since the start.
    package var reseal: ResealProgress?

    /// Limits the reply to the size of a frame.
    private static let mostVersions = 64

    package struct Version: Codable, Hashable, Sendable {
        package var version: UInt32
        /// Whether the version is used to seal new values.
        package var active: Bool
        /// The number of stored values sealed with this version.
        package var values: Int
        /// The time at which the version became active; omitted if unknown.
        package var activeSince: Timestamp?
        /// Whether the version is needed only for older backups.
        package var retirable: Bool
        package var inKeyFile: Bool
        /// Whether the root is in a module; omitted for a version that is not in the key file.
        package var inModule: Bool?
    }

    init(_ versions: [VaultKeyUsage], inKeyFile: [UInt32], reseal: ResealProgress? = nil) {
        self.versions = versions.suffix(Self.mostVersions).map {
            Version(
                version: $0.version,
                active: $0.isActive,
                values: $0.values,
                activeSince: $0.activeSince,
                retirable: $0.isRetirable,
                inKeyFile: inKeyFile.contains($0.version),
                inModule: $0.isInModule
            )
        }
        self.reseal = reseal
    }

    func draw(on page: inout Page) {
        let rows = self.versions.map { version in
            [
                "\(version.version)",
                !version.inKeyFile
                    ? page.bad("MISSING")
                    : version.active ? page.good("seals") : version.retirable ? "not needed" : "opens",
                version.inModule.map { $0 ? "module" : "file" } ?? "", "\(version.values)",
                version.activeSince?.text ?? "",
            ]
        }
        page.table(["VERSION", "STATE", "IN", "VALUES", "ACTIVE SINCE"], rows)
        if let reseal = self.reseal { page.line("resealing: \(reseal.spoken)") }
    }
}

extension ResealProgress {
    /// A sentence describing the progress.
    var spoken: String {
        switch self.state {
        case .done: "all values are sealed with version \(self.version)"
        case .running: "\(self.walletsDone) of \(self.wallets) wallets done"
        case .failed: "interrupted, will be retried: \(self.problem ?? "")"
        }
    }
}
