internal import CProtobufC
internal import RemotePINProto
internal import Secrets
internal import Vocabulary

// Access to C messages by pointer, which only the operators' messages still use.

func withUnpacked<Message, Value>(
    _ frame: [UInt8],
    _ unpack: Unpacker<Message>,
    _ copy: (UnsafeMutablePointer<Message>) throws(WireError) -> Value
) throws(WireError) -> Value {
    let arena = Arena(budget: WireError.decodingBudget(frameByteCount: frame.count))
    guard let message = unsafe arena.unpack(frame, with: unpack) else {
        throw arena.hasRefused ? .overBudget : .notProtobuf
    }
    return try unsafe copy(message)
}

/// Adds the id of the call to the error that `read` throws.
func naming<Value>(id: UInt64?, _ read: () throws(FieldFault) -> Value) throws(WireError) -> Value {
    do throws(FieldFault) {
        return try read()
    } catch {
        throw error.wireError(id: id)
    }
}

extension Arena {
    borrowing func place<Message>(_ initialize: Initializer<Message>) -> UnsafeMutablePointer<Message> {
        let message = unsafe self.pieces(of: Message.self, count: 1)
        unsafe initialize(message)
        return unsafe message
    }

    borrowing func pieces<Value>(of type: Value.Type, count: Int) -> UnsafeMutablePointer<Value> {
        unsafe self.state.pointee.allocate(type, count: count)
    }

    borrowing func bytes(_ bytes: [UInt8]) -> ProtobufCBinaryData {
        unsafe self.state.pointee.copy(bytes)
    }

    borrowing func bytes<Kind>(_ value: FixedBytes<Kind>) -> ProtobufCBinaryData {
        unsafe self.bytes(value.bytes)
    }

    borrowing func text(_ text: String) -> UnsafeMutablePointer<CChar> {
        unsafe self.state.pointee.copy(text)
    }

    borrowing func packed<Message>(_ message: UnsafeMutablePointer<Message>) -> [UInt8] {
        unsafe MessageWriter(message, in: self.state).serialized(from: self)
    }
}

extension ProtobufCBinaryData {
    var isEmpty: Bool { unsafe self.len == 0 }
}

func text(
    _ pointer: UnsafeMutablePointer<CChar>?,
    _ field: WireField,
    in range: ClosedRange<Int>
) throws(FieldFault) -> String {
    try unsafe copiedText(pointer, field, in: range)
}

func appVersion(_ pointer: UnsafeMutablePointer<CChar>?) throws(FieldFault) -> AppVersion {
    guard let version = try unsafe AppVersion(text(pointer, .appVersion, in: 1...32)) else {
        throw .invalid(.appVersion)
    }
    return version
}

func required<Message>(
    _ pointer: UnsafeMutablePointer<Message>?,
    _ field: WireField
) throws(FieldFault) -> UnsafeMutablePointer<Message> {
    guard let pointer = unsafe pointer else { throw .missing(field) }
    return unsafe pointer
}

func refuseUnknownFields(_ message: ProtobufCMessage) throws(FieldFault) {
    guard unsafe message.n_unknown_fields == 0 else { throw .unknownField }
}

extension Features {
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__Features> {
        let message = unsafe arena.place(remotepin__v1__features__init)
        unsafe self.write(to: MessageWriter(message, in: arena.state))
        return unsafe message
    }
}

extension Revocation {
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__Revocation> {
        let message = unsafe arena.place(remotepin__v1__revocation__init)
        unsafe self.write(to: MessageWriter(message, in: arena.state))
        return unsafe message
    }
}

extension PINState {
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__PINState> {
        let message = unsafe arena.place(remotepin__v1__pinstate__init)
        unsafe self.write(to: MessageWriter(message, in: arena.state))
        return unsafe message
    }
}
