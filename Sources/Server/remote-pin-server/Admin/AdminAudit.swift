internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import ServerSettings
internal import Vault
internal import Vocabulary

/// What is on record.
struct AdminAudit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Verify and show the audit log: who did what, and which wallets were revoked.",
        discussion: """
            These two read the file and the vault's key themselves, so they also work while the server is stopped, and only \
            for who may read both.
            """,
        subcommands: [Verify.self, Show.self]
    )

    /// Looks for changes, removals and cuts.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Say whether the audit log is as it was written; exit status 65 where it is not.",
            discussion: """
                Finds any change and any removal in the file. A cut at its end is found with what the server's log said \
                last (`audit log newest=NUMBER:MAC`), which is best kept on another machine.

                  remote-pin-server admin audit verify --lab /tmp/lab
                  remote-pin-server admin audit verify --last 81:0-5be0… --config server.yaml
                """
        )

        @Option(help: ArgumentHelp("An entry that the log must have, as the server's log told it.", valueName: "mark"))
        var last: String?

        @OptionGroup var file: AuditFileOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { _ = try self.mark() }

        private func mark() throws -> AuditMark? {
            guard let last else { return nil }
            guard let mark = AuditMark(last) else {
                throw ValidationError("`\(last)` is no mark: NUMBER:MAC, as the server's log has it.")
            }
            return mark
        }

        func run() async throws {
            let mark = try self.mark()
            try await ending {
                let found = try await self.file.verified(last: mark)
                let json = VerificationJSON(
                    intact: found.problem == nil,
                    entries: found.newest?.number ?? 0,
                    newest: found.newest?.description,
                    tornBefore: found.tornBefore,
                    problem: found.problem?.description
                )
                self.output.print(json) { page in
                    if let problem = found.problem {
                        page.line(page.bad("not as it was written") + ": \(problem)")
                    } else {
                        page.line(page.good("intact") + ", \(found.newest?.number ?? 0) entries")
                    }
                    if let newest = found.newest { page.line("newest \(newest)") }
                    for number in found.tornBefore { page.line("entry \(number) tells of the remains of a crash") }
                }
                if found.problem != nil { throw ExitCode(StartFailure.Kind.data.rawValue) }
            }
        }

        private struct VerificationJSON: Encodable {
            let intact: Bool
            /// Those that are as they were written.
            let entries: UInt64
            let newest: String?
            let tornBefore: [UInt64]
            let problem: String?
        }
    }
}

/// Which audit log is meant.
struct AuditFileOptions: ParsableArguments {
    @OptionGroup var server: StoppedServerOptions

    @Option(
        help: ArgumentHelp("Another file than the configuration's audit.file.", valueName: "file"),
        completion: .file()
    )
    var file: String?

    /// Looks again so often while a server may just be writing the last line.
    private static let looks = 5

    /// Verifies the log; entries go to `read` where it is given.
    func verified(last: AuditMark? = nil, read: (([AuditEntry]) -> Void)? = nil) async throws -> AuditVerification {
        let settings = try self.server.loaded().settings
        let path = self.file.map(ConfigurationOptions.absolute) ?? settings[SettingTable.auditFile]
        let vault = try explaining(.configuration) { try KeyFileVault(settings[SettingTable.vaultKeyFile]) }
        var found = AuditVerification()
        for _ in 0..<Self.looks {
            var entries: [AuditEntry] = []
            do {
                let reader = try AuditReader(path, vault: vault)
                found = try await reader.verify(last: last, read: read == nil ? nil : { entries.append($0) })
            } catch {
                throw StartFailure(.files, "the audit log cannot be read: \(error)")
            }
            read?(entries)
            guard case .tornTail = found.problem else { break }
        }
        return found
    }
}
