internal import AdminProtocol
internal import AuditLog
internal import HostSystem
internal import Logging
internal import RemotePINServer
internal import Vocabulary

// The audit entries of commands:
//
//     changing:  begun, durable ─▶ commit ─▶ done, durable ─▶ reply
//     reading:                     read   ─▶ done, durable ─▶ reply
//     a further page of a list:    read   ─▶ reply
//
// If the audit log rejects an entry, the command is not run or the reply is not sent.
extension AdminService {
    /// Runs a command, writing audit entries before and after it.
    func recorded<Call: AdminCall>(_ call: Call, by actor: AuditActor) async throws -> Call.Reply {
        guard let lane = Call.lane else { return try await self.inItsLane(call, by: actor) }
        return try await self.lanes.withLock(lane) { try await self.inItsLane(call, by: actor) }
    }

    private func inItsLane<Call: AdminCall>(_ call: Call, by actor: AuditActor) async throws -> Call.Reply {
        try await call.withSubject(in: self) { subject in
            var entries = CommandEntries(
                event: AuditEvent(rawValue: Call.name),
                actor: actor,
                detail: call.auditDetail,
                subjects: subject.inParts
            )
            if call.effect != .read { try await self.begin(&entries) }
            let reply: Call.Reply
            do {
                reply = try await call.run(in: self)
            } catch {
                await self.enter(AdminFailure(error, sharesStore: self.serverName != nil), entries)
                throw error
            }
            if call.page.map({ self.pages.take($0, by: actor) }) != true {
                entries.add(call.auditedWallets(of: reply))
                try await self.enterDone(call.effect == .start ? "begun" : call.auditResult(of: reply), entries)
            }
            if let next = call.page(after: reply) { self.pages.expect(next, by: actor) }
            return reply
        }
    }

    private func begin(_ entries: inout CommandEntries) async throws(AdminFailure) {
        for subject in entries.subjects {
            do throws(AdminFailure) {
                entries.begun.append(try await self.append(.begun, of: entries, on: subject))
            } catch {
                // The earlier parts were recorded as begun, but nothing has been done yet.
                if !entries.begun.isEmpty { await self.enter(error, entries, isUndone: true) }
                throw error
            }
        }
    }

    private func enterDone(_ result: String, _ entries: CommandEntries) async throws(AdminFailure) {
        guard entries.begun.isEmpty else {
            for (begun, subject) in zip(entries.begun, entries.subjects) {
                let phase = AuditPhase.done(of: begun, result: result)
                await self.server.audit.mustAppend(
                    entries.event,
                    by: entries.actor,
                    on: subject,
                    phase,
                    detail: entries.detail
                )
            }
            return
        }
        for subject in entries.subjects {
            _ = try await self.append(.done(of: nil, result: result), of: entries, on: subject)
        }
    }

    /// Records a failure.
    ///
    /// If the store did not answer, the change may have been committed, so the outcome is recorded as unclear.
    private func enter(_ failure: AdminFailure, _ entries: CommandEntries, isUndone: Bool = false) async {
        let (audit, reason) = (self.server.audit, failure.message)
        let begun: [UInt64?] = entries.begun.isEmpty ? [nil] : entries.begun
        for (begun, subject) in zip(begun, entries.subjects) {
            if let begun, !isUndone, failure.kind == .unavailable || failure.kind == .internal {
                let phase = AuditPhase.unclear(of: begun, reason: reason)
                await audit.tryAppend(entries.event, by: entries.actor, on: subject, phase)
                continue
            }
            do throws(AuditLogError) {
                let phase = AuditPhase.failed(of: begun, reason: reason)
                try await audit.append(entries.event, by: entries.actor, on: subject, phase, detail: entries.detail)
            } catch {
                self.server.log.error("the audit log rejected a failure's entry", metadata: ["reason": "\(error)"])
            }
        }
    }

    /// Appends an entry and returns its number.
    private func append(
        _ phase: AuditPhase,
        of entries: CommandEntries,
        on subject: AuditSubject
    ) async throws(AdminFailure) -> UInt64 {
        do throws(AuditLogError) {
            return try await self.server.audit.append(
                entries.event,
                by: entries.actor,
                on: subject,
                phase,
                detail: entries.detail
            ).number
        } catch {
            self.server.log.error("the audit log accepts no entries", metadata: ["reason": "\(error)"])
            throw AdminFailure(.unavailable, "The audit log rejected the entry, so nothing was done: \(error).")
        }
    }
}

/// The audit entries for one command.
private struct CommandEntries {
    let event: AuditEvent
    let actor: AuditActor
    let detail: String?
    /// The subjects of a phase, one per entry, since an entry can only name a limited number of wallets.
    var subjects: [AuditSubject]
    /// The numbers of the entries written before the change.
    var begun: [UInt64] = []

    /// Names further wallets in the last entry of the next phase: a replay takes the wallets of the `done` entry.
    mutating func add(_ wallets: Set<WalletID>) {
        let missing = wallets.subtracting(self.subjects.flatMap(\.wallets))
        guard !missing.isEmpty, let last = self.subjects.indices.last else { return }
        self.subjects[last].wallets += missing
    }
}
