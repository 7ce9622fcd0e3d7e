internal import Administration
internal import AdminProtocol
internal import ArgumentParser
internal import AuditLog
internal import Foundation
internal import HostSystem
internal import ServerSettings
internal import Vault
internal import Vocabulary

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
                  journalctl -u remote-pin-server -o cat |
                    remote-pin-server admin audit verify --last-from - --record \\
                    --config server.yaml
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
                let json: JSONObject = [
                    "intact": found.problem == nil,
                    // The number of entries before the first problem.
                    "entries": found.newest?.number ?? 0,
                    "newest": found.newest?.description,
                    "server": found.server,
                    "tornBefore": found.tornBefore,
                    "problem": found.problem?.description,
                ]
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
        let vault = try await KeyFileVault.open(settings)
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

extension AdminAudit {
    /// Shows log entries.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show the newest entries, all or those that match, and verify them.",
            discussion: """
                A `begun` entry precedes the commit of a change; the `done` entry contains its number. If the log was \
                altered, the entries before the alteration are shown and the exit status is 65.

                  remote-pin-server admin audit show --lab /tmp/lab
                  remote-pin-server admin audit show --wallet 3f9c01… --json --lab /tmp/lab
                  remote-pin-server admin audit show --event "revoke wallet" \\
                    --since 2026-12-01 --lab /tmp/lab
                """
        )

        @Option(
            help: ArgumentHelp("Only entries of this command or event.", valueName: "name"),
            completion: .list(AdminCalls.auditEvents.map(\.rawValue)),
            transform: { text in
                let event = AuditEvent(rawValue: text)
                guard AdminCalls.auditEvents.contains(event) else {
                    let known = AdminCalls.auditEvents.map(\.rawValue).joined(separator: ", ")
                    throw ValidationError("`\(text)` is not a command or event; use one of: \(known).")
                }
                return event
            }
        )
        var event: AuditEvent?

        @Option(help: ArgumentHelp("Only entries whose actor contains this: 1000, alice, wallet.", valueName: "actor"))
        var actor: String?

        @Option(help: ArgumentHelp("Only entries about this wallet.", valueName: "wallet"), transform: walletID)
        var wallet: WalletID?

        @Option(help: ArgumentHelp("Only entries from this time on.", valueName: "time"), transform: time)
        var since: Timestamp?

        @Option(help: ArgumentHelp("Only entries before this time.", valueName: "time"), transform: time)
        var before: Timestamp?

        @Option(help: ArgumentHelp("The maximum number of entries; the newest are shown.", valueName: "number"))
        var limit = 100

        @OptionGroup var file: AuditFileOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard self.limit > 0 else { throw ValidationError("--limit takes a number from 1 on.") }
        }

        private func matches(_ record: AuditRecord) -> Bool {
            (self.event.map { record.event == $0 } ?? true)
                && (self.actor.map { record.actor.rawValue.contains($0) } ?? true)
                && (self.wallet.map { record.subject.wallets.contains($0) } ?? true)
                && (self.since.map { record.at >= $0 } ?? true) && (self.before.map { record.at < $0 } ?? true)
        }

        func run() async throws {
            try await ending {
                var entries: [AuditEntry] = []
                let found = try await self.file.verified { entries = $0.filter { self.matches($0.record) } }
                entries = Array(entries.suffix(self.limit))
                let json: JSONObject = ["entries": entries.map(\.json), "server": found.server]
                self.output.print(json) { page in
                    if let server = found.server { page.line("the log of the server \(server)") }
                    if entries.isEmpty { return page.line("no entry matches") }
                    page.table(
                        ["NUMBER", "TIME", "ACTOR", "EVENT", "PHASE", "RESULT", "SUBJECT"],
                        entries.map(\.cells)
                    )
                }
                if let problem = found.problem {
                    throw StartFailure(.data, "the audit log was altered: \(problem)")
                }
            }
        }
    }
}

extension AuditEntry {
    fileprivate var json: JSONObject {
        let phase = AuditPhaseText(self.record.phase)
        return [
            "number": self.number,
            "time": self.record.at,
            "epoch": self.record.epoch,
            "actor": self.record.actor.rawValue,
            "event": self.record.event.rawValue,
            "detail": self.record.detail,
            "wallets": self.record.subject.wallets,
            "recoveryCodeMAC": self.record.subject.recoveryCode,
            "phase": phase.name,
            "of": phase.of,
            "result": phase.text,
        ]
    }

    fileprivate var cells: [String] {
        let (record, phase) = (self.record, AuditPhaseText(self.record.phase))
        var subject = record.subject.wallets.prefix(2).map(\.description)
        if record.subject.wallets.count > 2 { subject.append("and \(record.subject.wallets.count - 2) more") }
        if let mac = record.subject.recoveryCode { subject.append("code \(mac)") }
        return [
            "\(self.number)", record.at.text, record.actor.rawValue,
            record.event.rawValue + (record.detail.map { " \(Self.short($0))" } ?? ""),
            phase.name + (phase.of.map { " of \($0)" } ?? ""), Self.oneLine(phase.text),
            subject.joined(separator: ", "),
        ]
    }

    /// Replaces line breaks, which would split the table row.
    ///
    /// An update policy has one line per rule.
    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    /// Truncates the text to forty characters.
    ///
    /// The `--json` output is not truncated.
    private static func short(_ text: String) -> String {
        let line = Self.oneLine(text)
        return line.count > 40 ? "\(line.prefix(39))…" : line
    }
}

/// The text shown for a phase.
private struct AuditPhaseText {
    let name: String
    let of: UInt64?
    /// The result, or the reason for a failure.
    let text: String

    init(_ phase: AuditPhase) {
        self.name = phase.name
        switch phase {
        case .begun: (self.of, self.text) = (nil, "")
        case .done(let of, let result): (self.of, self.text) = (of, result)
        case .failed(let of, let reason): (self.of, self.text) = (of, reason)
        case .unclear(let of, let reason): (self.of, self.text) = (of, reason)
        }
    }
}
