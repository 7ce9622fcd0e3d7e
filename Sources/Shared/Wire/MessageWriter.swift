internal import CProtobufC
internal import Glibc
internal import Secrets
internal import Vocabulary

/// A generated `…__init` function.
typealias Initializer<Message> = (UnsafeMutablePointer<Message>?) -> Void

/// Builds a C message in a new arena and serializes it.
@inline(__always) @safe
func encode<Message>(_ initialize: Initializer<Message>, _ write: (MessageWriter<Message>) -> Void) -> [UInt8] {
    let arena = Arena()
    let root = unsafe MessageWriter(in: arena, initialize)
    write(root)
    return root.serialized(from: arena)
}

/// A C message under construction, whose fields point to copies in an ``Arena``.
///
/// A writer must not escape the closure passed to ``encode(_:_:)``, because the arena is freed after that. The methods
/// are inlined so that a key path is reduced to the offset of the field.
@safe struct MessageWriter<Message> {
    typealias BytesField = WritableKeyPath<Message, ProtobufCBinaryData>
    typealias PartField<Part> = WritableKeyPath<Message, UnsafeMutablePointer<Part>?>

    private let message: UnsafeMutablePointer<Message>
    private let arena: UnsafeMutablePointer<ArenaState>

    /// Allocates a message in `arena` with the defaults set by `initialize`.
    @inline(__always) init(in arena: borrowing Arena, _ initialize: Initializer<Message>) {
        unsafe self.init(in: arena.state, initialize)
    }

    @inline(__always) private init(in arena: UnsafeMutablePointer<ArenaState>, _ initialize: Initializer<Message>) {
        unsafe self.init(arena.pointee.allocate(Message.self, count: 1), in: arena)
        unsafe initialize(self.message)
    }

    @inline(__always) init(_ message: UnsafeMutablePointer<Message>, in arena: UnsafeMutablePointer<ArenaState>) {
        unsafe self.message = unsafe message
        unsafe self.arena = unsafe arena
    }

    /// Serializes the message, which must have been allocated in `arena`.
    func serialized(from arena: borrowing Arena) -> [UInt8] {
        // Every generated struct starts with a ProtobufCMessage.
        let base = unsafe UnsafeRawPointer(self.message).assumingMemoryBound(to: ProtobufCMessage.self)
        let byteCount = unsafe protobuf_c_message_get_packed_size(base)
        return unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
            if byteCount > 0 { initializedCount = unsafe protobuf_c_message_pack(base, buffer.baseAddress) }
        }
    }

    /// Sets a number, an enumeration or the case of a oneof.
    @inline(__always) @safe func set<Value>(_ field: WritableKeyPath<Message, Value>, _ value: Value) {
        unsafe self.message.pointee[keyPath: field] = value
    }

    /// Sets a Boolean.
    @inline(__always) @safe func set(_ field: WritableKeyPath<Message, protobuf_c_boolean>, _ value: Bool) {
        self.set(field, value ? 1 : 0)
    }

    /// Sets a number, clamped to 32 bits.
    @inline(__always) @safe func set(_ field: WritableKeyPath<Message, UInt32>, _ number: Int) {
        self.set(field, UInt32(clamping: number))
    }

    /// Sets a point in time.
    @inline(__always) @safe func set(_ field: WritableKeyPath<Message, UInt64>, _ time: Timestamp) {
        self.set(field, time.wireMilliseconds)
    }

    /// Sets a duration in milliseconds.
    @inline(__always) @safe func set(_ field: WritableKeyPath<Message, UInt64>, _ duration: Duration) {
        self.set(field, duration.wireMilliseconds)
    }

    /// Sets a byte string.
    @inline(__always) @safe func set(_ field: BytesField, _ bytes: [UInt8]) {
        unsafe self.message.pointee[keyPath: field] = self.arena.pointee.copy(bytes)
    }

    /// Pads the message to the given length, not counting its tag and length, by filling a field with zeros.
    ///
    /// - Precondition: The field number is at most 15, and the other fields leave 3 to 129 bytes for this one.
    @safe func pad(_ field: BytesField, to byteCount: Int) {
        let base = unsafe UnsafeRawPointer(self.message).assumingMemoryBound(to: ProtobufCMessage.self)
        // One byte each for the field's tag and for its length.
        let zeroCount = unsafe byteCount - protobuf_c_message_get_packed_size(base) - 2
        precondition((1...127).contains(zeroCount), "the padding must not be empty and needs a length of one byte")
        self.set(field, [UInt8](repeating: 0, count: zeroCount))
    }

    /// Sets an identifier, a key or a signature.
    ///
    /// If it is nil, the field stays empty.
    @inline(__always) @safe func set<Kind>(_ field: BytesField, _ value: FixedBytes<Kind>?) {
        if let value { self.set(field, value.bytes) }
    }

    /// Sets a share, whose copy is wiped along with the arena.
    ///
    /// If it is nil, the field stays empty.
    @inline(__always) @safe func set(_ field: BytesField, _ share: Share?) {
        guard let share else { return }
        unsafe self.message.pointee[keyPath: field] = self.arena.pointee.copy(share)
    }

    /// Sets a text.
    ///
    /// If it is nil, the field stays empty.
    ///
    /// Anything after a zero byte is not sent.
    @inline(__always) @safe func set(_ field: PartField<CChar>, _ text: String?) {
        guard let text else { return }
        unsafe self.message.pointee[keyPath: field] = self.arena.pointee.copy(text)
    }

    /// Sets a repeated field to numbers.
    @inline(__always) @safe func set(
        _ field: PartField<UInt64>,
        count: WritableKeyPath<Message, Int>,
        _ numbers: [UInt64]
    ) {
        let list = unsafe self.arena.pointee.allocate(UInt64.self, count: numbers.count)
        for (index, number) in numbers.enumerated() { unsafe list[index] = number }
        unsafe self.message.pointee[keyPath: field] = unsafe list
        self.set(count, numbers.count)
    }

    /// Sets a repeated field to byte strings.
    @inline(__always) @safe func set(
        _ field: PartField<ProtobufCBinaryData>,
        count: WritableKeyPath<Message, Int>,
        _ strings: [[UInt8]]
    ) {
        let list = unsafe self.arena.pointee.allocate(ProtobufCBinaryData.self, count: strings.count)
        for (index, bytes) in strings.enumerated() { unsafe list[index] = self.arena.pointee.copy(bytes) }
        unsafe self.message.pointee[keyPath: field] = unsafe list
        self.set(count, strings.count)
    }

    /// Adds a sub-message with default values and returns a writer for it.
    @discardableResult
    @inline(__always) @safe func add<Part>(
        _ field: PartField<Part>,
        _ initialize: Initializer<Part>
    ) -> MessageWriter<Part> {
        let part = unsafe MessageWriter<Part>(in: self.arena, initialize)
        unsafe self.message.pointee[keyPath: field] = unsafe part.message
        return part
    }
}

extension ArenaState {
    /// Returns uninitialized memory for `count` values.
    mutating func allocate<Value>(_ type: Value.Type, count: Int) -> UnsafeMutablePointer<Value> {
        guard let memory = unsafe self.allocate(byteCount: MemoryLayout<Value>.stride * count) else {
            preconditionFailure("an arena for encoding has no budget that could run out")
        }
        return unsafe memory.bindMemory(to: Value.self, capacity: max(count, 1))
    }

    /// Copies `bytes` into the arena.
    mutating func copy(_ bytes: [UInt8]) -> ProtobufCBinaryData {
        let copy = unsafe self.allocate(UInt8.self, count: bytes.count)
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let start = source.baseAddress else { return }
            unsafe copy.initialize(from: start, count: source.count)
        }
        return unsafe ProtobufCBinaryData(len: bytes.count, data: copy)
    }

    /// Copies a share into the arena, which wipes it.
    mutating func copy(_ share: Share) -> ProtobufCBinaryData {
        let copy = unsafe self.allocate(UInt8.self, count: Share.byteCount)
        share.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(start: copy, count: Share.byteCount).copyMemory(from: source)
            }
        }
        return unsafe ProtobufCBinaryData(len: Share.byteCount, data: copy)
    }

    /// Copies `text` into the arena, with a terminating zero byte.
    mutating func copy(_ text: String) -> UnsafeMutablePointer<CChar> {
        var text = text
        let copy = unsafe self.allocate(CChar.self, count: text.utf8.count + 1)
        text.withUTF8 { source in
            if let start = source.baseAddress { unsafe memcpy(copy, start, source.count) }
            unsafe copy[source.count] = 0
        }
        return unsafe copy
    }
}
