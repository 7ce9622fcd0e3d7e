internal import Administration
internal import AdminProtocol
internal import ArgumentParser
internal import AuditLog
internal import ServerCommandLine
internal import Vocabulary

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
                  remote-pin-server admin audit show --event "revoke wallet" --since 2026-12-01 --lab /tmp/lab
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
                let json = EntriesJSON(entries: entries.map(EntriesJSON.Entry.init), server: found.server)
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

/// The output of `--json`.
private struct EntriesJSON: Encodable {
    let entries: [Entry]
    /// The server whose log this is, if it shares its store with others.
    let server: String?

    struct Entry: Encodable {
        let number: UInt64
        let time: Timestamp
        let epoch: Int
        let actor: String
        let event: String
        let detail: String?
        let wallets: [WalletID]
        let recoveryCodeMAC: RecoveryCodeMAC?
        let phase: String
        let of: UInt64?
        let result: String

        init(_ entry: AuditEntry) {
            let phase = AuditPhaseText(entry.record.phase)
            self.number = entry.number
            self.time = entry.record.at
            self.epoch = entry.record.epoch
            self.actor = entry.record.actor.rawValue
            self.event = entry.record.event.rawValue
            self.detail = entry.record.detail
            self.wallets = entry.record.subject.wallets
            self.recoveryCodeMAC = entry.record.subject.recoveryCode
            (self.phase, self.of, self.result) = (phase.name, phase.of, phase.text)
        }
    }
}
