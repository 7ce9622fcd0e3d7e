internal import Foundation

/// One call of an operator: the command's name and its arguments, in one frame.
///
///     {"arguments":{"wallet":"3f9c01…"},"command":"wallet show","id":1,"version":1}
package struct AdminRequest<Arguments: Sendable>: Sendable {
    /// The version of the protocol, ``AdminHeader/version``.
    package var version = AdminHeader.currentVersion
    /// Chosen by the client and repeated in the reply.
    package var id: UInt64
    /// The command as operators type it: `wallet show`.
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

/// The part of a request that is read first; it selects the type of the arguments.
package struct AdminHeader: Decodable, Sendable {
    /// Raised when a request or a reply changes its meaning.
    ///
    /// It is not raised when a command or a member is added.
    package static let currentVersion = 1

    package var version: Int
    package var id: UInt64
    package var command: String
}

/// The reply to the ``AdminRequest`` with the same id: the command's result, or why it was not carried out.
///
///     {"id":1,"reply":{"state":"open", …}}
///     {"failure":{"kind":"unknown-wallet","message":"…"},"id":1}
package struct AdminReply<Reply: Sendable>: Sendable {
    package var id: UInt64
    package var reply: Reply?
    package var failure: AdminFailure?

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

/// The reason why a command was not executed, not even in part.
package struct AdminFailure: Error, Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// A wallet that the command names does not exist. The message contains its id.
        case unknownWallet = "unknown-wallet"
        /// Not permitted on this server, or not yet.
        case notAllowed = "not-allowed"
        /// The store, the vault or the audit log did not respond; the client may retry later.
        case unavailable
        /// The server does not know the command or an argument of it.
        case unsupported
        /// The request is not valid in this protocol, or a value is out of range.
        case malformed
        /// The store holds data that this server did not write. The server's log has the details.
        case `internal`
    }

    package let kind: Kind
    /// A sentence for the operator, at most ``longestMessage`` bytes.
    package let message: String

    /// The length of the longest message, in bytes.
    package static let longestMessage = 512

    /// Creates a failure, shortening the message to ``longestMessage``.
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

/// The encoding of messages: one JSON object in a frame, on one line, with sorted keys.
package enum AdminCoding {
    /// - Precondition: `message` consists of objects, arrays, texts, integers and Booleans.
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
