internal import AdminProtocol
internal import AuditLog
internal import Synchronization
internal import Vocabulary

/// Commands requested by one person and not yet confirmed by a second one.
///
/// Invariants: a confirmation runs the command with the arguments that were requested, at most once, within the time
/// limit, and only for a user other than the requester. Requests are lost on restart. Since the audit log does not
/// record them as begun, they are not carried out when the server starts.
final class PendingRequests: Sendable {
    struct Request: Sendable {
        let id: String
        let command: String
        let user: UInt32
        let actor: AuditActor
        let until: Timestamp
        /// Runs the command and writes its audit entries.
        let carryOut: @Sendable (AdminService, AuditActor) async throws -> Void
    }

    /// The maximum number of pending requests.
    static let most = 32

    private let requests = Mutex<[Request]>([])

    /// Returns the requests that can be confirmed at the given time.
    func all(at now: Timestamp) -> [Request] {
        self.requests.withLock { requests in
            requests.removeAll { $0.until <= now }
            return requests
        }
    }

    /// Adds a request.
    func add(_ request: Request, at now: Timestamp) throws(AdminFailure) {
        let isAdded = self.requests.withLock { requests in
            requests.removeAll { $0.until <= now }
            guard requests.count < Self.most else { return false }
            requests.append(request)
            return true
        }
        guard isAdded else {
            throw AdminFailure(.notAllowed, "\(Self.most) requests wait for confirmation; wait until one expires.")
        }
    }

    /// Removes and returns a request if this user may confirm it.
    func take(_ id: String, _ command: String, by user: UInt32, at now: Timestamp) throws(AdminFailure) -> Request {
        let result: Result<Request, AdminFailure> = self.requests.withLock { requests in
            func refused(_ text: String) -> Result<Request, AdminFailure> { .failure(AdminFailure(.notAllowed, text)) }
            guard let index = requests.firstIndex(where: { $0.id == id }) else {
                return refused(
                    "No request \(id) waits at this server: it was confirmed, it expired, the server was restarted, or "
                        + "it was made at another server."
                )
            }
            guard requests[index].until > now else {
                return refused("Request \(id) expired on \(requests.remove(at: index).until.text); request it again.")
            }
            guard requests[index].command == command else {
                return refused("Request \(id) is for `\(requests[index].command)`, not for `\(command)`.")
            }
            guard requests[index].user != user else {
                return refused("Request \(id) is yours; another person must confirm it.")
            }
            return .success(requests.remove(at: index))
        }
        return try result.get()
    }
}
