internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension AdminRequest {
    /// The bytes of one frame, without its length.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__admin_request__init)
        unsafe root.pointee.id = self.id
        unsafe self.command.place(in: root, arena)
        return unsafe arena.packed(root)
    }

    /// Reads one frame's bytes.
    ///
    /// A command that this version does not know, or that says more than this version knows, becomes
    /// ``AdminCommand/unknown``: nobody acts on half of what an operator asked for.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(frame, remotepin__v1__admin_request__unpack) { root throws(WireError) in
            let id = unsafe root.pointee.id
            let command = try naming(id: id) { () throws(FieldFault) in
                do throws(FieldFault) {
                    try unsafe refuseUnknownFields(root.pointee.base)
                    return try unsafe AdminCommand(copying: root)
                } catch .unknownField {
                    return AdminCommand.unknown
                }
            }
            return AdminRequest(id: id, command: command)
        }
    }
}

extension AdminResponse {
    /// The bytes of one frame, without its length.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__admin_response__init)
        unsafe root.pointee.id = self.id
        unsafe self.result.place(in: root, arena)
        return unsafe arena.packed(root)
    }

    /// Reads one frame's bytes.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(frame, remotepin__v1__admin_response__unpack) { root throws(WireError) in
            let id = unsafe root.pointee.id
            return AdminResponse(
                id: id,
                result: try naming(id: id) { () throws(FieldFault) in try unsafe AdminResult(copying: root) }
            )
        }
    }
}

extension AdminFailure {
    /// What a sentence may have, in bytes.
    static let longestSentence = 512

    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__AdminError> {
        let message = unsafe arena.place(remotepin__v1__admin_error__init)
        unsafe message.pointee.message = arena.text(Self.shortened(self.sentence))
        unsafe message.pointee.kind =
            switch self.kind {
            case .unknownWallet: REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_UNKNOWN_WALLET
            case .notAllowed: REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_NOT_ALLOWED
            case .unavailable: REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_UNAVAILABLE
            case .unsupported: REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_UNSUPPORTED
            case .malformed: REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_MALFORMED
            case .internal: REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_INTERNAL
            }
        return unsafe message
    }

    /// Copies the message out of the tree; a kind of a newer server is one of its own troubles.
    init(copying message: Remotepin__V1__AdminError) throws(FieldFault) {
        let kind: Kind =
            switch unsafe message.kind {
            case REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_UNKNOWN_WALLET: .unknownWallet
            case REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_NOT_ALLOWED: .notAllowed
            case REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_UNAVAILABLE: .unavailable
            case REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_UNSUPPORTED: .unsupported
            case REMOTEPIN__V1__ADMIN_ERROR__KIND__KIND_MALFORMED: .malformed
            default: .internal
            }
        self.init(kind, try unsafe text(message.message, .message, in: 0...Self.longestSentence))
    }

    /// As many characters as may be sent.
    static func shortened(_ sentence: String) -> String {
        guard sentence.utf8.count > Self.longestSentence else { return sentence }
        var short = ""
        for character in sentence where short.utf8.count + character.utf8.count <= Self.longestSentence - 3 {
            short.append(character)
        }
        return short + "…"
    }
}
