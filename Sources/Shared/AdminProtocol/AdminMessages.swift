internal import Foundation

/// An operator's command, consisting of its name and arguments in a single frame.
///
///     {"arguments":{"wallet":"3f9c01…"},"command":"wallet show","id":1,"version":1}
package struct AdminRequest<Arguments: Sendable>: Sendable {
    /// The version of the protocol, ``AdminHeader/version``.
    package var version = AdminHeader.currentVersion
    /// Chosen by the client and repeated in the reply.
    package var id: UInt64
    /// The command as typed by operators, such as `wallet show`.
    package var command: String
    package var arguments: Arguments

    package init(id: UInt64, command: String, arguments: Arguments) {
        self.id = id
        self.command = command
        self.arguments = arguments
    }
}

extension AdminRequest: Encodable where Arguments: Encodable {}
extension AdminRequest: Decodable where Arguments: Decodable {}

/// The part of a request that is read first.
///
/// It determines the type of the arguments.
package struct AdminHeader: Decodable, Sendable {
    /// The current version.
    ///
    /// Incremented when the meaning of a request or reply changes.
    ///
    /// It is not incremented when a command or a member is added.
    package static let currentVersion = 1

    package var version: Int
    package var id: UInt64
    package var command: String
}

/// The reply to the ``AdminRequest`` with the same id: the command's result or an error.
///
///     {"id":1,"reply":{"state":"open", …}}
///     {"failure":{"kind":"unknown-wallet","message":"…"},"id":1}
package struct AdminReply<Reply: Sendable>: Sendable {
    package var id: UInt64
    package var reply: Reply?
    package var failure: AdminFailure?
    /// The name of the server that answers, if several servers share its store.
    package var server: String?

    package init(id: UInt64, reply: Reply) {
        self.id = id
        self.reply = reply
    }

    package init(id: UInt64, failure: AdminFailure) {
        self.id = id
        self.failure = failure
    }
}

extension AdminReply: Encodable where Reply: Encodable {}
extension AdminReply: Decodable where Reply: Decodable {}

/// An error from a command that was not executed, not even partially.
package struct AdminFailure: Error, Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// The command refers to a wallet that does not exist.
        ///
        /// The message contains its id.
        case unknownWallet = "unknown-wallet"
        /// The command is not allowed on this server, or not yet.
        case notAllowed = "not-allowed"
        /// The store, the vault or the audit log did not respond.
        ///
        /// The client may retry later.
        case unavailable
        /// The server does not support the command or one of its arguments.
        case unsupported
        /// The request is malformed, or a value is out of range.
        case malformed
        /// The store contains data that was not written by this server.
        ///
        /// The server's log has the details.
        case `internal`
    }

    package let kind: Kind
    /// A sentence for the operator, at most ``longestMessage`` bytes long.
    package let message: String

    /// The maximum length of a message in bytes.
    package static let longestMessage = 512

    /// Creates a failure, truncating the message to ``longestMessage``.
    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = Self.shortened(message)
    }

    private static func shortened(_ message: String) -> String {
        guard message.utf8.count > Self.longestMessage else { return message }
        var short = ""
        for character in message {
            guard short.utf8.count + character.utf8.count <= Self.longestMessage - "…".utf8.count else { break }
            short.append(character)
        }
        return short + "…"
    }
}

/// Encodes and decodes messages as a single line of JSON with sorted keys.
package enum AdminCoding {
    /// - Precondition: `message` only consists of objects, arrays, strings, integers and Booleans.
    package static func encode(_ message: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(message) else {
            preconditionFailure("\(type(of: message)) contains a value that JSON cannot represent")
        }
        return Array(data)
    }

    package static func decode<Message: Decodable>(_: Message.Type, from frame: [UInt8]) throws -> Message {
        try JSONDecoder().decode(Message.self, from: Data(frame))
    }
}
