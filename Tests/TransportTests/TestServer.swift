import Lab
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

/// A certificate authority and a server certificate for `localhost` and 127.0.0.1, in files.
final class TestCertificates: Sendable {
    let folder: TemporaryFolder
    let authority: LabAuthority
    let authorityPath: String
    let certificatePath: String
    let keyPath: String

    /// A time at which the certificates are valid.
    static let time = Timestamp(milliseconds: 1_780_000_000_000)

    init(names: [String] = ["localhost", "127.0.0.1"]) throws {
        self.folder = TemporaryFolder()
        self.authority = LabAuthority()
        let (chain, key) = self.authority.issueTLSServerCertificate(names: names)
        self.authorityPath = try self.folder.write(self.authority.tlsAuthorityPEM, to: "ca.pem")
        self.certificatePath = try self.folder.write(chain, to: "server.pem")
        self.keyPath = try self.folder.write(key, to: "server.key")
    }

    /// Replaces the certificate with another one of the same authority.
    func replace() throws {
        let (chain, key) = self.authority.issueTLSServerCertificate(names: ["localhost", "127.0.0.1"])
        _ = try self.folder.write(chain, to: "server.pem")
        _ = try self.folder.write(key, to: "server.key")
    }

    /// The key of another certificate of the same authority.
    func otherKey() -> String {
        self.authority.issueTLSServerCertificate(names: ["localhost"]).keyPEM
    }

    func serverContext() throws -> TLSServerContext {
        try TLSServerContext(certificateFile: self.certificatePath, keyFile: self.keyPath)
    }

    func clientContext(serverName: String = "localhost", resumes: Bool = true) throws -> TLSClientContext {
        let trust = TLSTrust.authority(pem: Array(self.authority.tlsAuthorityPEM.utf8))
        return try TLSClientContext(trust: trust, serverName: serverName, resumes: resumes)
    }
}

/// The failures that a server reported, for a test to wait for.
final class Failures: Sendable {
    private let stream: AsyncStream<ConnectionFailure>
    private let source: AsyncStream<ConnectionFailure>.Continuation
    private let event: @Sendable (ListenerEvent) -> Void

    /// - Parameter event: A callback for every event of the listener.
    init(event: @escaping @Sendable (ListenerEvent) -> Void = { _ in }) {
        (self.stream, self.source) = AsyncStream.makeStream()
        self.event = event
    }

    func add(_ failure: ConnectionFailure) { self.source.yield(failure) }

    /// An observer that adds the failures of a listener.
    var observer: ListenerObserver {
        var observer = ListenerObserver()
        observer.failure = { _, failure in self.add(failure) }
        observer.event = self.event
        return observer
    }

    /// Waits for the next failure.
    func next() async -> ConnectionFailure? {
        for await failure in self.stream { return failure }
        return nil
    }
}

/// Runs a listener during `body`; by default it answers with ``echo(_:)``.
@discardableResult
func withServer<Result: Sendable>(
    _ certificates: TestCertificates,
    limits: TransportLimits = TransportLimits(),
    failures: Failures = Failures(),
    isBalancer: @escaping @Sendable (String) -> Bool = { _ in false },
    serve: @escaping @Sendable (ServerConnection) async -> Void = echo,
    _ body: @escaping @Sendable (_ port: Int, _ tls: TLSServerContext, _ listener: RPCListener) async throws -> Result
) async throws -> Result {
    let tls = try certificates.serverContext()
    let listener = try await RPCListener.bind(
        host: "127.0.0.1",
        port: 0,
        tls: tls,
        limits: limits,
        isBalancer: isBalancer,
        observer: failures.observer
    )
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await listener.serve(serve) }
        defer { listener.stop() }
        return try await body(listener.port, tls, listener)
    }
}

/// Answers BeginEnrollment with the channel binding as token, and other calls with `not-allowed`.
@Sendable func echo(_ connection: ServerConnection) async {
    while true {
        switch await connection.next() {
        case .request(let request):
            guard await connection.send(answer(to: request, on: connection)) else { return }
        case .violation(let violation, let id):
            _ = await connection.send(Response(id: id, result: .refused(Refusal(.malformed))))
            if violation.endsConnection { return }
        case .closed:
            return
        }
    }
}

func answer(to request: Request, on connection: ServerConnection) -> Response {
    guard case .beginEnrollment = request.call, let wallet = WalletID(Array(repeating: 7, count: 16)) else {
        return Response(id: request.id, result: .refused(Refusal(.notAllowed)))
    }
    let enrollment = Enrollment(
        token: connection.channelBinding.bytes,
        walletID: wallet,
        expiresAt: Timestamp(milliseconds: 0)
    )
    return Response(id: request.id, result: .beginEnrollment(enrollment))
}

/// Calls BeginEnrollment and returns the token of the answer.
func token(_ connection: ClientConnection) async throws -> [UInt8] {
    guard case .beginEnrollment(let enrollment) = try await connection.call(.beginEnrollment, timeout: .seconds(20))
    else {
        throw UnexpectedAnswer()
    }
    return enrollment.token
}

struct UnexpectedAnswer: Error {}

func connect(_ port: Int, _ tls: TLSClientContext) async throws(ConnectError) -> ClientConnection {
    try await ClientConnection.connect(host: "127.0.0.1", port: port, tls: tls, timeout: .seconds(20))
}
