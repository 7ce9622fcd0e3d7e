internal import Foundation
package import Transport

/// A client's connection to the operators' socket of a server on this machine.
package final class AdminConnection: Sendable {
    private let connection: LocalConnection

    private init(_ connection: LocalConnection) {
        self.connection = connection
    }

    /// Connects to a server's socket; throws ``ConnectError/refused`` if no server listens there.
    package static func connect(path: String, timeout: Duration) async throws(ConnectError) -> AdminConnection {
        struct AnyReply: Decodable { var id: UInt64 }
        return AdminConnection(
            try await LocalConnection.connect(path: path, timeout: timeout) { frame in
                try? AdminCoding.decode(AnyReply.self, from: frame).id
            }
        )
    }

    /// Sends a command and waits for its reply.
    ///
    /// - Parameters:
    ///   - command: the name as operators type it: `wallet show`.
    ///   - arguments: encodes as a JSON object.
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
            throw .connection(error)
        }
        guard let answer = try? AdminCoding.decode(AdminReply<Reply>.self, from: frame) else {
            throw .unexpectedReply
        }
        if let failure = answer.failure { throw .refused(failure) }
        guard let reply = answer.reply else { throw .unexpectedReply }
        return reply
    }

    /// Closes the connection.
    package func close() {
        self.connection.close()
    }

    /// Waits until the connection has ended.
    package func closed() async {
        await self.connection.closed()
    }
}

/// The reason why a command has no reply.
package enum AdminCallError: Error, Hashable, Sendable {
    /// The server did not carry the command out.
    case refused(AdminFailure)
    /// The connection failed. The command may have been carried out.
    case connection(CallError)
    /// The reply is not one of this command: server and client have different versions.
    case unexpectedReply
}

/// The arguments of a command that has none.
package struct NoArguments: Codable, Hashable, Sendable {
    package init() {}
}
