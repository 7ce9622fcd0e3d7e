internal import Synchronization
package import Transport

/// A client's connection to the admin socket of a server on the same machine.
package final class AdminConnection: Sendable {
    private let connection: LocalConnection
    private let rejection: Rejection
    private let answering = Mutex<String?>(nil)

    /// The name of the server that gave the last reply, or nil if that server does not share its store.
    package var server: String? { self.answering.withLock(\.self) }

    /// The reason why the server has closed the connection, if it sent one.
    private final class Rejection: Sendable {
        let failure = Mutex<AdminFailure?>(nil)
    }

    private init(_ connection: LocalConnection, _ rejection: Rejection) {
        self.connection = connection
        self.rejection = rejection
    }

    /// Connects to a server's socket; throws ``ConnectError/refused`` if no server is listening on it.
    package static func connect(path: String, timeout: Duration) async throws(ConnectError) -> AdminConnection {
        struct AnyReply: Decodable {
            var id: UInt64
            var failure: AdminFailure?
        }
        let rejection = Rejection()
        let connection = try await LocalConnection.connect(path: path, timeout: timeout) { frame in
            guard let reply = try? AdminCoding.decode(AnyReply.self, from: frame) else { return nil }
            // Id 0 does not belong to any call. The reply tells us why the server is closing the connection.
            if reply.id == 0 { rejection.failure.withLock { $0 = reply.failure } }
            return reply.id
        }
        return AdminConnection(connection, rejection)
    }

    /// Sends a command and waits for the reply.
    ///
    /// - Parameters:
    ///   - command: The name as typed by operators, such as `wallet show`.
    ///   - arguments: The arguments, which must be encoded as a JSON object.
    package func call<Reply: Decodable & Sendable>(
        _ command: String,
        _ arguments: some Encodable & Sendable,
        timeout: Duration
    ) async throws(AdminCallError) -> Reply {
        let frame: [UInt8]
        do throws(CallError) {
            frame = try await self.connection.call(timeout: timeout) { id in
                AdminCoding.encode(AdminRequest(id: id, command: command, arguments: arguments))
            }
        } catch {
            if let failure = self.rejection.failure.withLock(\.self) { throw .refused(failure) }
            throw .connection(error)
        }
        guard let answer = try? AdminCoding.decode(AdminReply<Reply>.self, from: frame) else {
            throw .unexpectedReply
        }
        self.answering.withLock { $0 = answer.server }
        if let failure = answer.failure { throw .refused(failure) }
        guard let reply = answer.reply else { throw .unexpectedReply }
        return reply
    }

    /// Closes the connection.
    package func close() { self.connection.close() }
}

/// An error from a command that did not get a reply.
package enum AdminCallError: Error, Hashable, Sendable {
    /// The server did not execute the command.
    case refused(AdminFailure)
    /// The connection failed. The command may or may not have been executed.
    case connection(CallError)
    /// The reply does not match the command, because the server and the client have different versions.
    case unexpectedReply
}

/// The arguments of a command that does not take any.
package struct NoArguments: Codable, Hashable, Sendable {
    package init() {}
}
