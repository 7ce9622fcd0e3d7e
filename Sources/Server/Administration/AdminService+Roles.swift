internal import AdminProtocol
internal import AuditLog
internal import Logging
internal import RemotePINServer
internal import Transport
internal import Vocabulary

// Roles and the two-person rule. Every refusal and every request is recorded before it is answered.
extension AdminService {
    /// Rejects the command if the peer's role does not allow it.
    func requireRole(for call: some AdminCall, of peer: LocalPeer, _ caller: AdminCaller) async throws(AdminFailure) {
        let role = self.roles.role(of: peer)
        if let role, role >= call.role { return }
        let own = role.map { "role `\($0.rawValue)`" } ?? "no role"
        try await self.refuse(call, "The command needs the role `\(call.role.rawValue)`; this user has \(own).", caller)
    }

    /// Returns if one person is enough.
    ///
    /// Otherwise, stores the command for a second person to confirm, and throws a failure that says so.
    func requireSecondPerson<Call: AdminCall>(
        for call: Call,
        of caller: AdminCaller
    ) async throws(AdminFailure) {
        guard Call.needsTwoPersons, let limit = self.roles.confirmation else { return }
        let actor = caller.actor
        guard caller.isPerson else {
            let text =
                "Two persons must give this command, each as their own user: not root, not the server's user, and not "
                + "a user without an account."
            try await self.refuse(call, text, caller)
            return
        }
        let now = self.server.clock.now()
        let id = UInt32.random(in: .min ... .max).bigEndianBytes.hex
        let until = now + limit
        do throws(AuditLogError) {
            // Not recorded as begun, because begun commands are carried out at the next start.
            let result = "\(id), until \(until.text)"
            try await self.server.audit.append(.request, by: actor, .done(of: nil, result: result), detail: Call.name)
        } catch {
            throw AdminFailure(.unavailable, "The audit log rejected the entry, so nothing was requested: \(error).")
        }
        let request = PendingRequests.Request(
            id: id,
            command: Call.name,
            user: caller.userID,
            actor: actor,
            until: until,
            carryOut: { service, actor in _ = try await service.recorded(call, by: actor) }
        )
        do throws(AdminFailure) {
            try self.pending.add(request, at: now)
        } catch {
            try await self.refuse(call, error.message, caller)
        }
        // Servers do not share requests.
        let place = self.serverName.map { ", at this server (\($0))," } ?? ""
        throw AdminFailure(
            .notAllowed,
            "Not done yet, but requested: another person confirms it until \(until.text)\(place) with "
                + "`remote-pin-server admin confirm \(id) \(Call.name)`."
        )
    }

    /// Records that a command was refused, and throws the failure.
    private func refuse<Call: AdminCall>(
        _ call: Call,
        _ text: String,
        _ caller: AdminCaller
    ) async throws(AdminFailure) {
        let refusal = RefusedCommands.Refusal(command: Call.name, detail: call.auditDetail, reason: text)
        await self.refused.record(refusal, of: caller.userID) { entry in
            do throws(AuditLogError) {
                try await self.server.audit.append(
                    AuditEvent(rawValue: entry.command),
                    by: caller.actor,
                    .failed(of: nil, reason: entry.reason),
                    detail: entry.detail
                )
            } catch {
                self.server.log.error("the audit log rejected a refusal's entry", metadata: ["reason": "\(error)"])
            }
        }
        throw AdminFailure(.notAllowed, text)
    }
}
