internal import CProtobufC

/// Decodes `frame` with the generated `unpack` function of a message and lends the tree to `copy`, which copies
/// everything out: the pointer that it gets dies when it returns.
func withUnpacked<Message, Value>(
    _ frame: [UInt8],
    _ unpack: Unpacker<Message>,
    _ copy: (UnsafeMutablePointer<Message>) throws(WireError) -> Value
) throws(WireError) -> Value {
    let arena = Arena(budget: WireError.decodingBudget(frameByteCount: frame.count))
    return try unsafe withUnpacked(frame, in: arena, unpack, copy)
}

/// The same in an arena of the caller's, which can then be asked what it took.
func withUnpacked<Message, Value>(
    _ frame: [UInt8],
    in arena: borrowing Arena,
    _ unpack: Unpacker<Message>,
    _ copy: (UnsafeMutablePointer<Message>) throws(WireError) -> Value
) throws(WireError) -> Value {
    guard let message = unsafe arena.unpack(frame, with: unpack) else {
        throw arena.hasRefused ? .overBudget : .notProtobuf
    }
    return try unsafe copy(message)
}

/// Runs `read` and gives what it throws the id of the call.
func naming<Value>(id: UInt64?, _ read: () throws(FieldFault) -> Value) throws(WireError) -> Value {
    do throws(FieldFault) {
        return try read()
    } catch {
        throw error.wireError(id: id)
    }
}
