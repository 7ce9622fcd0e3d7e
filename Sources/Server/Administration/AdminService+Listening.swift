internal import AdminProtocol
internal import ServiceLifecycle
package import Transport

extension AdminService {
    /// Returns the reply to a connection that exceeds a limit of the socket.
    package static func busyAnswer(_ reason: RefusedConnections.Reason) -> [UInt8] {
        let limits = TransportLimits.admin
        let open =
            reason == .connectionsPerSource
            ? "\(limits.connectionsPerSource) other connections of this user to the socket are open"
            : "\(limits.connections) connections to the socket are open or kept for root and the server's user"
        let text =
            "\(open), which is the limit; nothing was done. Repeat the command when one has ended: a connection "
            + "without commands is closed after a minute."
        return AdminCoding.encode(AdminReply<NoArguments>(id: 0, failure: AdminFailure(.unavailable, text)))
    }

    /// Answers the commands received on a socket until graceful shutdown or cancellation.
    package func serve(_ listener: LocalListener) async {
        await withGracefulShutdownHandler {
            await listener.serve { await self.answer($0, from: $1) }
        } onGracefulShutdown: {
            listener.stop()
        }
    }

    /// Answers one request.
    ///
    /// A request that does not follow the protocol leaves no audit entry, because it contains no known command. A
    /// request with an unknown command, version or member is rejected as a whole, so a command is never partially
    /// executed.
    package func answer(_ frame: [UInt8], from peer: LocalPeer) async -> LocalListener.Answer {
        let header: AdminHeader
        do {
            header = try AdminCoding.decode(AdminHeader.self, from: frame)
        } catch {
            return Self.malformed(error, id: 0)
        }
        guard header.version == AdminHeader.currentVersion, let call = AdminCalls.named(header.command) else {
            return await self.answer(UnknownCall(), header.id, peer)
        }
        return await self.answer(call, frame, header.id, peer)
    }

    private func answer<Call: AdminCall>(
        _: Call.Type,
        _ frame: [UInt8],
        _ id: UInt64,
        _ peer: LocalPeer
    ) async -> LocalListener.Answer {
        let call: Call
        do {
            let request = try AdminCoding.decode(AdminRequest<Call>.self, from: frame)
            let members = try AdminCoding.decode(JSONMembers.self, from: frame)
            let known = try AdminCoding.decode(JSONMembers.self, from: AdminCoding.encode(request))
            guard members.areAll(in: known) else { return await self.answer(UnknownCall(), id, peer) }
            try request.arguments.validate()
            call = request.arguments
        } catch {
            return Self.malformed(error, id: id)
        }
        return await self.answer(call, id, peer)
    }

    private func answer<Call: AdminCall>(
        _ call: Call,
        _ id: UInt64,
        _ peer: LocalPeer
    ) async -> LocalListener.Answer {
        var reply: AdminReply<Call.Reply>
        do throws(AdminFailure) {
            reply = AdminReply(id: id, reply: try await self.carryOut(call, by: peer))
        } catch {
            reply = AdminReply(id: id, failure: error)
        }
        reply.server = self.serverName
        let frame = AdminCoding.encode(reply)
        guard frame.count > LocalListener.longestAnswer else { return LocalListener.Answer(frame, isUse: true) }
        let failure = AdminFailure(.internal, "The reply is too long: \(frame.count) bytes.")
        return LocalListener.Answer(AdminCoding.encode(AdminReply<Call.Reply>(id: id, failure: failure)), isUse: true)
    }

    private static func malformed(_ error: any Error, id: UInt64) -> LocalListener.Answer {
        let failure =
            error as? AdminFailure
            ?? AdminFailure(
                .malformed,
                "The request cannot be read: \((error as? DecodingError)?.brief ?? "not JSON")."
            )
        return LocalListener.Answer(AdminCoding.encode(AdminReply<NoArguments>(id: id, failure: failure)), isUse: false)
    }
}

extension DecodingError {
    /// Describes the problem and its location, without the value, which could be a recovery code.
    fileprivate var brief: String {
        let (context, problem): (Context, String) =
            switch self {
            case .keyNotFound(let key, let context): (context, "`\(key.stringValue)` is missing")
            case .typeMismatch(_, let context): (context, "has another type")
            case .valueNotFound(_, let context): (context, "is null")
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (Context(codingPath: [], debugDescription: ""), "unknown problem")
            }
        let place = context.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: ".")
        return place.isEmpty ? problem : "\(place): \(problem)"
    }
}

/// The structure of a JSON value: its objects and arrays, but no other values.
private enum JSONMembers: Decodable {
    case object([String: JSONMembers])
    case array([JSONMembers])
    case null
    case value

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: Key.self) {
            var members: [String: JSONMembers] = [:]
            for key in object.allKeys { members[key.stringValue] = try object.decode(JSONMembers.self, forKey: key) }
            self = .object(members)
        } else if var array = try? decoder.unkeyedContainer() {
            var elements: [JSONMembers] = []
            while !array.isAtEnd { elements.append(try array.decode(JSONMembers.self)) }
            self = .array(elements)
        } else {
            self = try decoder.singleValueContainer().decodeNil() ? .null : .value
        }
    }

    /// Returns whether every member of every object here is also in `other`.
    ///
    /// A null member is treated as absent.
    func areAll(in other: JSONMembers) -> Bool {
        switch (self, other) {
        case (.object(let members), .object(let others)):
            return members.allSatisfy { key, value in
                if case .null = value { return true }
                return others[key].map { value.areAll(in: $0) } ?? false
            }
        case (.array(let elements), .array(let others)):
            return elements.count <= others.count && zip(elements, others).allSatisfy { $0.areAll(in: $1) }
        case (.null, _), (.value, .value): return true
        case (.object, _), (.array, _), (.value, _): return false
        }
    }
}
