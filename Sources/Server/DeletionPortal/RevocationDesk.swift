internal import Transport
internal import Vocabulary
internal import Wire

/// Where codes are taken to.
protocol RevocationDesk: Sendable {
    /// Has the wallet of a code revoked for somebody at `source`.
    func revoke(_ code: String, for source: PeerSource) async -> RevocationAnswer
}

/// What became of it.
enum RevocationAnswer: Hashable, Sendable {
    /// Done, now or before; when it was first revoked.
    case revoked(at: Timestamp)
    case wrong
    /// The server's own limit; nothing was looked up.
    case wait(Duration)
    /// Nothing was done.
    case away(retryAfter: Duration)
    /// The server was asked and gave no answer: whether it was done is not known, and doing it again is safe.
    case unknown
}

/// The running server, by its socket.
struct ServerDesk: RevocationDesk {
    private let path: String
    /// When to come back where nobody answers.
    private static let absence: Duration = .seconds(60)

    init(path: String) {
        self.path = path
    }

    /// Opens a connection for each code: one that is kept would have to be found dead first, and this is no busy road.
    func revoke(_ code: String, for source: PeerSource) async -> RevocationAnswer {
        guard let address = source.address else { return .away(retryAfter: Self.absence) }
        let connection: PortalConnection
        do throws(ConnectError) {
            connection = try await PortalConnection.connect(path: self.path, timeout: .seconds(5))
        } catch {
            return .away(retryAfter: Self.absence)
        }
        defer { connection.close() }
        do throws(CallError) {
            return switch try await connection.revoke(code: code, source: address, timeout: .seconds(20)) {
            case .revoked(let at): .revoked(at: at)
            case .notRecognised: .wrong
            case .rateLimited(let wait): .wait(wait)
            case .unavailable(let wait): .away(retryAfter: max(wait, .seconds(1)))
            case .malformed: .away(retryAfter: Self.absence)
            }
        } catch {
            return .unknown
        }
    }
}
