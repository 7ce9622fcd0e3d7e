internal import CProtobufC
internal import Glibc
internal import Secrets
internal import Vocabulary

// How values become C messages: each piece is copied into the arena, so that the tree is whole as long as the arena is.
extension Arena {
    /// A new C message with its defaults, as `initialize` (the generated `…__init`) sets them.
    borrowing func place<Message>(
        _ initialize: (UnsafeMutablePointer<Message>?) -> Void
    ) -> UnsafeMutablePointer<Message> {
        let message = unsafe self.pieces(of: Message.self, count: 1)
        unsafe initialize(message)
        return unsafe message
    }

    /// Uninitialized memory for `count` values.
    borrowing func pieces<Value>(of type: Value.Type, count: Int) -> UnsafeMutablePointer<Value> {
        guard let memory = unsafe self.allocate(byteCount: MemoryLayout<Value>.stride * count) else {
            preconditionFailure("an arena for encoding has no budget that could be used up")
        }
        return unsafe memory.bindMemory(to: Value.self, capacity: max(count, 1))
    }

    /// A copy of `bytes` in the arena.
    borrowing func bytes(_ bytes: [UInt8]) -> ProtobufCBinaryData {
        let copy = unsafe self.pieces(of: UInt8.self, count: bytes.count)
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let start = source.baseAddress else { return }
            unsafe copy.initialize(from: start, count: source.count)
        }
        return unsafe ProtobufCBinaryData(len: bytes.count, data: copy)
    }

    /// A copy of the bytes of an identifier, a key or a signature.
    borrowing func bytes<Kind>(_ value: FixedBytes<Kind>) -> ProtobufCBinaryData {
        unsafe self.bytes(value.bytes)
    }

    /// A copy of a share, wiped with the arena.
    borrowing func bytes(_ share: Share) -> ProtobufCBinaryData {
        let copy = unsafe self.pieces(of: UInt8.self, count: Share.byteCount)
        share.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(start: copy, count: Share.byteCount).copyMemory(from: source)
            }
        }
        return unsafe ProtobufCBinaryData(len: Share.byteCount, data: copy)
    }

    /// A copy of `text` that ends with a zero byte; what follows a zero byte in `text` is not sent.
    borrowing func text(_ text: String) -> UnsafeMutablePointer<CChar> {
        var text = text
        return text.withUTF8 { source in
            let copy = unsafe self.pieces(of: CChar.self, count: source.count + 1)
            if let start = source.baseAddress { unsafe memcpy(copy, start, source.count) }
            unsafe copy[source.count] = 0
            return unsafe copy
        }
    }

    /// The serialized message that begins at `message`, which must be one of this arena's.
    borrowing func packed<Message>(_ message: UnsafeMutablePointer<Message>) -> [UInt8] {
        unsafe self.packed(UnsafeRawPointer(message).assumingMemoryBound(to: ProtobufCMessage.self))
    }

    private borrowing func packed(_ base: UnsafePointer<ProtobufCMessage>) -> [UInt8] {
        let byteCount = unsafe protobuf_c_message_get_packed_size(base)
        var bytes = [UInt8](repeating: 0, count: byteCount)
        unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            if byteCount > 0 { unsafe protobuf_c_message_pack(base, buffer.baseAddress) }
        }
        return bytes
    }
}

extension Duration {
    /// Whole milliseconds as the messages carry them; what is negative counts as none.
    var wireMilliseconds: UInt64 { UInt64(max(0, self.milliseconds)) }
}

extension Timestamp {
    /// Milliseconds since 1970 as the messages carry them; what is before counts as 1970.
    var wireMilliseconds: UInt64 { UInt64(max(0, self.milliseconds)) }
}
