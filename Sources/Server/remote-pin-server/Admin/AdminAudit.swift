internal import ArgumentParser
internal import AuditLog
internal import Foundation
internal import HostSystem
internal import ServerCommandLine
internal import ServerSettings
internal import Vault

/// `admin audit`: reads the audit log.
struct AdminAudit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Verify and show the audit log: the operators' commands and the revoked wallets.",
        discussion: """
            These two commands read the file and the vault's key themselves. They work while the server is stopped, \
            too, and only for a user who may read both files.
            """,
        subcommands: [Verify.self, Show.self]
    )

    /// Checks the log for entries that were changed, removed or cut off.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Verify that the audit log was not altered; exit status 65 if it was.",
            discussion: """
                Finds any change and any removal in the file. To find entries that were cut off its end, pass the last \
                mark of the server's log (`audit log … newest=NUMBER:MAC`), which is best kept on another machine.

                  remote-pin-server admin audit verify --lab /tmp/lab
                  remote-pin-server admin audit verify --last 81:0-5be0… --config server.yaml
                  journalctl -u remote-pin-server -o cat | remote-pin-server admin audit verify --last-from - \\
                    --record --config server.yaml
                """
        )

        @Option(
            help: ArgumentHelp("An entry that the log must contain, from the server's log.", valueName: "mark"),
            transform: auditMark
        )
        var last: AuditMark?

        @Option(
            help: ArgumentHelp(
                "Take the newest mark in this log of the server instead; - is standard input.",
                valueName: "file"
            ),
            completion: .file()
        )
        var lastFrom: String?

        @Flag(help: "If the log is intact, record the time in the file AUDITLOG.verified, which the server exports.")
        var record = false

        @OptionGroup var file: AuditFileOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard self.last == nil || self.lastFrom == nil else {
                throw ValidationError("Use only one of --last and --last-from.")
            }
        }

        /// The size limit for a server log, in bytes.
        private static let longestLog = 1 << 30

        /// The entry that the log must contain, or nil if none was given.
        private func mark() throws -> AuditMark? {
            guard let lastFrom else { return self.last }
            let log =
                try lastFrom == "-"
                ? [UInt8](FileHandle.standardInput.readDataToEndOfFile())
                : explaining(.files) { try InputFile.read(lastFrom, atMost: Self.longestLog) }
            // If the server's log has no mark, fail instead of verifying without one. Otherwise, an attacker who
            // empties that log could hide that the audit log was truncated.
            guard let mark = try explaining(.data, "`--last-from`", { try AuditMark(newestIn: log) }) else {
                throw StartFailure(.data, "the server's log has no mark (`newest=…`); nothing was verified")
            }
            return mark
        }

        func run() async throws {
            try await ending {
                let found = try await self.file.verified(last: try self.mark())
                if self.record, found.problem == nil {
                    let path = try self.file.path()
                    try explaining(.files) { try AuditLog.recordVerification(of: path) }
                }
                let json = VerificationJSON(
                    intact: found.problem == nil,
                    entries: found.newest?.number ?? 0,
                    newest: found.newest?.description,
                    server: found.server,
                    tornBefore: found.tornBefore,
                    problem: found.problem?.description
                )
                self.output.print(json) { page in
                    if let problem = found.problem {
                        page.line(page.bad("altered") + ": \(problem)")
                    } else {
                        page.line(page.good("intact") + ", \(found.newest?.number ?? 0) entries")
                    }
                    if let newest = found.newest { page.line("newest \(newest)") }
                    if let server = found.server { page.line("the log of the server \(server)") }
                    for number in found.tornBefore {
                        page.line("entry \(number) reports an entry that a crash cut off")
                    }
                }
                if found.problem != nil { throw ExitCode(StartFailure.Kind.data.rawValue) }
            }
        }

        private struct VerificationJSON: Encodable {
            let intact: Bool
            /// The number of entries before the first problem.
            let entries: UInt64
            let newest: String?
            /// The server that writes this log, if it shares its store with others.
            let server: String?
            let tornBefore: [UInt64]
            let problem: String?
        }
    }
}

/// Options that select an audit log.
struct AuditFileOptions: ParsableArguments {
    @OptionGroup var server: StoppedServerOptions

    @Option(
        help: ArgumentHelp("Another file than the configuration's audit.file.", valueName: "file"),
        completion: .file()
    )
    var file: String?

    /// The number of attempts if the last line is incomplete, since a running server may be writing it.
    private static let attempts = 5

    /// Returns the path of the selected log.
    func path() throws -> String {
        try self.file.map(ConfigurationOptions.absolute) ?? self.server.loaded().settings[SettingTable.auditFile]
    }

    /// Verifies the log and passes its entries to `read`, if set.
    func verified(last: AuditMark? = nil, read: (([AuditEntry]) -> Void)? = nil) async throws -> AuditVerification {
        let (settings, path) = (try self.server.loaded().settings, try self.path())
        let vault = try explaining(.configuration) { try KeyFileVault(settings[SettingTable.vaultKeyFile]) }
        return try await Self.verified(path, vault: vault, last: last, read: read)
    }

    /// Verifies a log that a running server may be writing to.
    static func verified(
        _ path: String,
        vault: any Vault,
        last: AuditMark?,
        read: (([AuditEntry]) -> Void)? = nil
    ) async throws -> AuditVerification {
        var found = AuditVerification()
        for _ in 0..<Self.attempts {
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
