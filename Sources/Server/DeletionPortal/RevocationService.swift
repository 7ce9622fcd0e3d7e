internal import Transport
internal import Vocabulary
internal import Wire

/// The service that entered codes are sent to.
protocol RevocationService: Sendable {
    /// Revokes the wallet with this deletion code, on behalf of a client at `source`.
    func revoke(_ code: String, for source: PeerSource) async -> RevocationAnswer
}

/// The result of a revocation.
enum RevocationAnswer: Hashable, Sendable {
    /// The wallet was revoked, now or earlier.
    ///
    /// `at` is the time of the first revocation.
    case revoked(at: Timestamp)
    case wrong
    /// The server's own limit rejected the code without looking it up.
    case wait(Duration)
    /// The server could not be reached or is unavailable.
    ///
    /// Nothing was done.
    case away(retryAfter: Duration)
    /// The server received the request but did not answer.
    ///
    /// The outcome is unknown, and it is safe to retry.
    case unknown
}

/// A running server, reached over its socket.
struct ServerRevocationService: RevocationService {
    private let path: String
    /// The time to wait before retrying if no server answers.
    private static let absence: Duration = .seconds(60)

    init(path: String) { self.path = path }

    /// Sends the code over a new connection.
    ///
    /// Deletions are rare, and an open connection would have to be checked before reuse.
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
