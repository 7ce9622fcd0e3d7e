internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import Vocabulary

extension AdminAudit {
    /// Shows entries.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show the newest entries, all or those that fit; verifies them on the way.",
            discussion: """
                A `begun` is on record before the change is committed; its `done` names its number. Where the log is not as \
                it was written, the entries before are shown and the exit status is 65.

                  remote-pin-server admin audit show --lab /tmp/lab
                  remote-pin-server admin audit show --wallet 3f9c01… --json --lab /tmp/lab
                  remote-pin-server admin audit show --event "revoke wallet" --since 2026-12-01 --lab /tmp/lab
                """
        )

        @Option(
            help: ArgumentHelp("Only what this command or event did.", valueName: "name"),
            completion: .list(AuditEvent.all.map(\.rawValue))
        )
        var event: String?

        @Option(help: ArgumentHelp("Only of who is named so, in part: 1000, alice, wallet.", valueName: "who"))
        var actor: String?

        @Option(help: ArgumentHelp("Only what concerns this wallet.", valueName: "wallet"))
        var wallet: String?

        @Option(help: ArgumentHelp("Only from this time on.", valueName: "time"))
        var since: String?

        @Option(help: ArgumentHelp("Only before this time.", valueName: "time"))
        var before: String?

        @Option(help: ArgumentHelp("The newest so many of them.", valueName: "number"))
        var limit = 100

        @OptionGroup var file: AuditFileOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            _ = try self.filter()
            guard self.limit > 0 else { throw ValidationError("--limit takes a number from 1 on.") }
        }

        private func filter() throws -> (AuditRecord) -> Bool {
            let event = try self.event.map { text in
                guard let event = AuditEvent.all.first(where: { $0.rawValue == text }) else {
                    let known = AuditEvent.all.map(\.rawValue).joined(separator: ", ")
                    throw ValidationError("`\(text)` is no command or event; there are: \(known).")
                }
                return event
            }
            let wallet = try self.wallet.map(walletID)
            let (since, before) = (try self.since.map(time), try self.before.map(time))
            return { record in
                (event == nil || record.event == event)
                    && (self.actor.map { record.actor.rawValue.contains($0) } ?? true)
                    && (wallet.map { record.subject.wallets.contains($0) } ?? true)
                    && (since.map { record.at >= $0 } ?? true) && (before.map { record.at < $0 } ?? true)
            }
        }

        func run() async throws {
            let fits = try self.filter()
            try await ending {
                var entries: [AuditEntry] = []
                let found = try await self.file.verified { entries = $0.filter { fits($0.record) } }
                entries = Array(entries.suffix(self.limit))
                self.output.print(EntriesJSON(entries: entries.map(EntriesJSON.Entry.init))) { page in
                    if entries.isEmpty { return page.line("no entry fits") }
                    page.table(["NUMBER", "TIME", "WHO", "WHAT", "PHASE", "RESULT", "SUBJECT"], entries.map(\.cells))
                }
                if let problem = found.problem {
                    throw StartFailure(.data, "the audit log is not as it was written: \(problem)")
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

    /// An update policy's detail has a line for each rule, which would split the table's row.
    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    /// At most forty characters; `--json` has all of it.
    private static func short(_ text: String) -> String {
        let line = Self.oneLine(text)
        return line.count > 40 ? "\(line.prefix(39))…" : line
    }
}

/// A phase as words.
private struct AuditPhaseText {
    let name: String
    let of: UInt64?
    /// The result, or the reason.
    let text: String

    init(_ phase: AuditPhase) {
        switch phase {
        case .begun: (self.name, self.of, self.text) = ("begun", nil, "")
        case .done(let of, let result): (self.name, self.of, self.text) = ("done", of, result)
        case .failed(let of, let reason): (self.name, self.of, self.text) = ("failed", of, reason)
        case .unclear(let of, let reason): (self.name, self.of, self.text) = ("unclear", of, reason)
        }
    }
}

private struct EntriesJSON: Encodable {
    let entries: [Entry]

    struct Entry: Encodable {
        let number: UInt64
        let time: String
        let epoch: Int
        let actor: String
        let event: String
        let detail: String?
        let wallets: [String]
        let recoveryCodeMAC: String?
        let phase: String
        let of: UInt64?
        let result: String

        init(_ entry: AuditEntry) {
            let phase = AuditPhaseText(entry.record.phase)
            self.number = entry.number
            self.time = entry.record.at.text
            self.epoch = entry.record.epoch
            self.actor = entry.record.actor.rawValue
            self.event = entry.record.event.rawValue
            self.detail = entry.record.detail
            self.wallets = entry.record.subject.wallets.map(\.description)
            self.recoveryCodeMAC = entry.record.subject.recoveryCode?.description
            (self.phase, self.of, self.result) = (phase.name, phase.of, phase.text)
        }
    }
}
