internal import AdminProtocol
internal import AuditLog
internal import Logging
internal import RemotePINServer
internal import Transport
internal import Vocabulary

extension AdminService {
    /// Rejects the command if the peer's role does not allow it, and records that before the answer.
    func requireRole<Call: AdminCall>(
        for call: Call,
        of peer: LocalPeer,
        _ actor: AuditActor
    ) async throws(AdminFailure) {
        let role = self.roles.role(of: peer)
        if let role, role >= call.role { return }
        let own = role.map { "role `\($0.rawValue)`" } ?? "no role"
        let text = "The command needs the role `\(call.role.rawValue)`; this user has \(own)."
        let refusal = RefusedCommands.Refusal(command: Call.name, detail: call.auditDetail, reason: text)
        await self.refused.record(refusal, of: peer.userID) { entry in
            do throws(AuditLogError) {
                try await self.server.audit.append(
                    AuditEvent(rawValue: entry.command),
                    by: actor,
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
