internal import CProtobufC
internal import Secrets
internal import Vocabulary

// How the fields of C messages become values: each is copied and checked as its comment in the .proto says.

extension ProtobufCBinaryData {
    /// The bytes, at least `range.lowerBound` and at most `range.upperBound` of them.
    func copied(_ field: WireField, in range: ClosedRange<Int>) throws(FieldFault) -> [UInt8] {
        guard unsafe range.contains(self.len) else { throw .invalid(field) }
        return unsafe Array(UnsafeBufferPointer(start: self.data, count: self.len))
    }

    /// An identifier, a key or a signature of its kind's length.
    func fixed<Kind>(_ field: WireField) throws(FieldFault) -> FixedBytes<Kind> {
        guard unsafe self.len == Kind.byteCount,
            let value = unsafe FixedBytes<Kind>(Array(UnsafeBufferPointer(start: self.data, count: self.len)))
        else { throw .invalid(field) }
        return value
    }

    /// A share of 32 bytes.
    func share(_ field: WireField) throws(FieldFault) -> Share {
        guard unsafe self.len == Share.byteCount,
            let share = unsafe Share(copying: UnsafeBufferPointer(start: self.data, count: self.len))
        else { throw .invalid(field) }
        return share
    }

    /// Whether there are no bytes, which is how an optional one is left out.
    var isEmpty: Bool { unsafe self.len == 0 }
}

/// The text of a C string, valid UTF-8 of a length in `range`.
///
/// The length is looked at first: a hostile text of 64 KiB is not copied.
func text(
    _ pointer: UnsafeMutablePointer<CChar>?,
    _ field: WireField,
    in range: ClosedRange<Int>
) throws(FieldFault) -> String {
    guard let pointer = unsafe pointer else { throw .invalid(field) }
    var byteCount = 0
    while byteCount <= range.upperBound, unsafe pointer[byteCount] != 0 { byteCount += 1 }
    guard range.contains(byteCount) else { throw .invalid(field) }
    let bytes = unsafe UnsafeBufferPointer(start: pointer, count: byteCount)
    guard let text = unsafe String(validating: bytes, as: UTF8.self) else { throw .invalid(field) }
    return text
}

/// An app's version of at most 32 bytes.
func appVersion(_ pointer: UnsafeMutablePointer<CChar>?) throws(FieldFault) -> AppVersion {
    guard let version = try unsafe AppVersion(text(pointer, .appVersion, in: 1...32)) else {
        throw .invalid(.appVersion)
    }
    return version
}

/// Printable ASCII of at most 32 bytes.
func osVersion(_ pointer: UnsafeMutablePointer<CChar>?) throws(FieldFault) -> DeviceText {
    guard let version = try unsafe DeviceText(text(pointer, .osVersion, in: 1...32)) else {
        throw .invalid(.osVersion)
    }
    return version
}

/// A sub-message that must be there.
func required<Message>(
    _ pointer: UnsafeMutablePointer<Message>?,
    _ field: WireField
) throws(FieldFault) -> UnsafeMutablePointer<Message> {
    guard let pointer = unsafe pointer else { throw .missing(field) }
    return unsafe pointer
}

/// Refuses a message of a signed body that says more than this version understands.
func refuseUnknownFields(_ message: ProtobufCMessage) throws(FieldFault) {
    guard unsafe message.n_unknown_fields == 0 else { throw .unknownField }
}

extension Duration {
    /// A number of milliseconds in `range`.
    init(wireMilliseconds: UInt64, _ field: WireField, in range: ClosedRange<UInt64>) throws(FieldFault) {
        guard range.contains(wireMilliseconds), let milliseconds = Int64(exactly: wireMilliseconds) else {
            throw .invalid(field)
        }
        self = .milliseconds(milliseconds)
    }
}

extension Timestamp {
    /// A point in time that fits into 63 bits.
    init(wireMilliseconds: UInt64, _ field: WireField) throws(FieldFault) {
        guard let milliseconds = Int64(exactly: wireMilliseconds) else { throw .invalid(field) }
        self.init(milliseconds: milliseconds)
    }
}
