internal import CProtobufC
internal import Secrets
internal import Vocabulary

/// A generated `…__unpack` function.
typealias Unpacker<Message> = (
    UnsafeMutablePointer<ProtobufCAllocator>?, Int, UnsafePointer<UInt8>?
) -> UnsafeMutablePointer<Message>?

/// Decodes `frame` using a message's `unpack` function and passes the message to `read`.
///
/// - Parameter id: The field that contains the call id, for use in errors.
@inline(__always) @safe
func decode<Message, Value>(
    _ frame: [UInt8],
    _ unpack: Unpacker<Message>,
    id: KeyPath<Message, UInt64>? = nil,
    _ read: (MessageReader<Message>) throws(FieldFault) -> Value
) throws(WireError) -> Value {
    let arena = Arena(budget: WireError.decodingBudget(frameByteCount: frame.count))
    return try unsafe decode(frame, unpack, in: arena, id: id, read)
}

/// Decodes into the caller's arena, so that the caller can find out how much memory was used.
@inline(__always) @safe
func decode<Message, Value>(
    _ frame: [UInt8],
    _ unpack: Unpacker<Message>,
    in arena: borrowing Arena,
    id: KeyPath<Message, UInt64>? = nil,
    _ read: (MessageReader<Message>) throws(FieldFault) -> Value
) throws(WireError) -> Value {
    guard let message = unsafe arena.unpack(frame, with: unpack) else {
        throw arena.hasRefused ? .overBudget : .notProtobuf
    }
    let reader = unsafe MessageReader(message)
    do throws(FieldFault) {
        guard TextCheck.passes(frame[...], reader.fields) else { throw .invalid(.text) }
        return try read(reader)
    } catch {
        throw error.wireError(id: id.map { reader[dynamicMember: $0] })
    }
}

/// A decoded C message, whose fields are copied out and checked against the rules in the .proto file.
///
/// A reader must not escape the closure passed to `decode`, because the message's arena is freed after that. The
/// methods are inlined so that a key path is reduced to the offset of the field.
@dynamicMemberLookup
@safe struct MessageReader<Message> {
    typealias BytesField = KeyPath<Message, ProtobufCBinaryData>
    typealias TextField = KeyPath<Message, UnsafeMutablePointer<CChar>?>
    typealias PartField<Part> = KeyPath<Message, UnsafeMutablePointer<Part>?>

    private let message: UnsafeMutablePointer<Message>

    @inline(__always) init(_ message: UnsafeMutablePointer<Message>) {
        unsafe self.message = unsafe message
    }

    /// Returns a number, an enumeration or the case of a oneof.
    @inline(__always) @safe subscript<Value>(dynamicMember field: KeyPath<Message, Value>) -> Value {
        unsafe self.message.pointee[keyPath: field]
    }

    /// Returns a sub-message, which must be present.
    @inline(__always) @safe
    func part<Part>(_ field: PartField<Part>, _ name: WireField) throws(FieldFault) -> MessageReader<Part> {
        guard let part = unsafe self.message.pointee[keyPath: field] else { throw .missing(name) }
        return unsafe MessageReader<Part>(part)
    }

    /// Returns whether a bytes field is empty, which is how optional fields are left out.
    @inline(__always) @safe func isEmpty(_ field: BytesField) -> Bool {
        unsafe self.message.pointee[keyPath: field].len == 0
    }

    /// Returns a byte string whose length is in `range`.
    @inline(__always) @safe func bytes(
        _ field: BytesField,
        _ name: WireField,
        in range: ClosedRange<Int> = 0...(.max)
    ) throws(FieldFault) -> [UInt8] {
        try unsafe self.message.pointee[keyPath: field].copied(name, in: range)
    }

    /// Returns an identifier, a key or a signature of the right length.
    @inline(__always) @safe
    func fixed<Kind>(_ field: BytesField, _ name: WireField) throws(FieldFault) -> FixedBytes<Kind> {
        try unsafe self.message.pointee[keyPath: field].fixed(name)
    }

    /// Returns a share, which must have 32 bytes.
    @inline(__always) @safe func share(_ field: BytesField, _ name: WireField) throws(FieldFault) -> Share {
        try unsafe self.message.pointee[keyPath: field].share(name)
    }

    /// Returns a text whose length in bytes is in `range`.
    @inline(__always) @safe
    func text(_ field: TextField, _ name: WireField, in range: ClosedRange<Int>) throws(FieldFault) -> String {
        try unsafe copiedText(self.message.pointee[keyPath: field], name, in: range)
    }

    /// Returns an app version, which may have up to 32 bytes.
    @inline(__always) @safe func appVersion(_ field: TextField) throws(FieldFault) -> AppVersion {
        let version = AppVersion(try self.text(field, .appVersion, in: 1...32))
        guard let version else { throw .invalid(.appVersion) }
        return version
    }

    /// Returns an OS version, which may have up to 32 printable ASCII characters.
    @inline(__always) @safe func osVersion(_ field: TextField) throws(FieldFault) -> DeviceText {
        let version = DeviceText(try self.text(field, .osVersion, in: 1...32))
        guard let version else { throw .invalid(.osVersion) }
        return version
    }

    /// Returns a point in time in milliseconds since 1970, which must fit into 63 bits.
    @inline(__always)
    func time(_ field: KeyPath<Message, UInt64>, _ name: WireField) throws(FieldFault) -> Timestamp {
        try Timestamp(wireMilliseconds: self[dynamicMember: field], name)
    }

    /// Returns a duration in milliseconds that is within `range`.
    @inline(__always) func duration(
        _ field: KeyPath<Message, UInt64>,
        _ name: WireField,
        in range: ClosedRange<UInt64> = 0...(.max)
    ) throws(FieldFault) -> Duration {
        try Duration(wireMilliseconds: self[dynamicMember: field], name, in: range)
    }

    /// Returns the numbers in a repeated field, of which there must be at most `limit`.
    @inline(__always) @safe func numbers(
        _ field: PartField<UInt64>,
        count: KeyPath<Message, Int>,
        _ name: WireField,
        atMost limit: Int
    ) throws(FieldFault) -> [UInt64] {
        let count = self[dynamicMember: count]
        guard count <= limit else { throw .invalid(name) }
        return unsafe Array(UnsafeBufferPointer(start: self.message.pointee[keyPath: field], count: count))
    }

    /// Returns the byte strings in a repeated field, which must not be empty and may have up to `totalByteCount` bytes
    /// in total.
    @inline(__always) @safe func byteStrings(
        _ field: PartField<ProtobufCBinaryData>,
        count: KeyPath<Message, Int>,
        _ name: WireField,
        in counts: ClosedRange<Int>,
        totalByteCount: Int
    ) throws(FieldFault) -> [[UInt8]] {
        let count = self[dynamicMember: count]
        guard counts.contains(count) else { throw .invalid(name) }
        var strings: [[UInt8]] = []
        var bytesLeft = totalByteCount
        let list = unsafe UnsafeBufferPointer(start: self.message.pointee[keyPath: field], count: count)
        for index in 0..<count {
            guard bytesLeft >= 1 else { throw .invalid(name) }
            strings.append(try unsafe list[index].copied(name, in: 1...bytesLeft))
            bytesLeft -= unsafe list[index].len
        }
        return strings
    }

    /// Whether the message contains fields that are unknown to this version.
    var hasUnknownFields: Bool { unsafe self.base.n_unknown_fields != 0 }

    /// The fields that this version knows.
    var fields: MessageFields { unsafe MessageFields(self.base.descriptor) }

    /// The part that all generated structs start with.
    private var base: ProtobufCMessage { unsafe UnsafeRawPointer(self.message).load(as: ProtobufCMessage.self) }

    /// Throws if a message in a signed body contains fields that are unknown to this version.
    func rejectUnknownFields() throws(FieldFault) {
        guard !self.hasUnknownFields else { throw .unknownField }  // rule: wire-unknown-fields-in-signed-body
    }
}

/// The fields of a message, from the generated descriptor, which exists as long as the program.
@safe struct MessageFields {
    private let descriptor: UnsafePointer<ProtobufCMessageDescriptor>

    fileprivate init(_ descriptor: UnsafePointer<ProtobufCMessageDescriptor>) {
        unsafe self.descriptor = unsafe descriptor
    }

    /// The kinds of fields that ``TextCheck`` distinguishes.
    enum Kind {
        case text
        case part(MessageFields)
        /// Bytes, numbers, or a field that this version does not know.
        case other
    }

    /// Returns the kind of the field with this number.
    func kind(of number: UInt32) -> Kind {
        guard let field = unsafe protobuf_c_message_descriptor_get_field(self.descriptor, number) else { return .other }
        switch unsafe field.pointee.type {
        case PROTOBUF_C_TYPE_STRING: return .text
        case PROTOBUF_C_TYPE_MESSAGE:
            let part = unsafe field.pointee.descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self)
            return unsafe .part(MessageFields(part))
        default: return .other
        }
    }
}

extension ProtobufCBinaryData {
    /// Returns the bytes, whose number must be in `range`.
    func copied(_ field: WireField, in range: ClosedRange<Int>) throws(FieldFault) -> [UInt8] {
        guard unsafe range.contains(self.len) else { throw .invalid(field) }
        return unsafe Array(UnsafeBufferPointer(start: self.data, count: self.len))
    }

    /// Returns an identifier, a key or a signature of the right length.
    func fixed<Kind>(_ field: WireField) throws(FieldFault) -> FixedBytes<Kind> {
        guard unsafe self.len == Kind.byteCount,
            let value = unsafe FixedBytes<Kind>(Array(UnsafeBufferPointer(start: self.data, count: self.len)))
        else { throw .invalid(field) }
        return value
    }

    /// Returns a share, which must have 32 bytes.
    func share(_ field: WireField) throws(FieldFault) -> Share {
        guard unsafe self.len == Share.byteCount,
            let share = unsafe Share(copying: UnsafeBufferPointer(start: self.data, count: self.len))
        else { throw .invalid(field) }
        return share
    }
}

/// Returns a copy of a C string whose length is in `range`.
///
/// ``TextCheck`` has found it to be UTF-8. The length is checked first, so that a hostile text of 64 KiB is not copied.
func copiedText(
    _ pointer: UnsafeMutablePointer<CChar>?,
    _ field: WireField,
    in range: ClosedRange<Int>
) throws(FieldFault) -> String {
    guard let pointer = unsafe pointer else { throw .invalid(field) }
    var byteCount = 0
    while byteCount <= range.upperBound, unsafe pointer[byteCount] != 0 { byteCount += 1 }
    guard range.contains(byteCount) else { throw .invalid(field) }
    return unsafe String(cString: pointer)
}
