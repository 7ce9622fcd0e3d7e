internal import Vocabulary

// Times in messages are sent as unsigned milliseconds.

extension Duration {
    /// A number of milliseconds in `range`.
    init(wireMilliseconds: UInt64, _ field: WireField, in range: ClosedRange<UInt64>) throws(FieldFault) {
        guard range.contains(wireMilliseconds), let milliseconds = Int64(exactly: wireMilliseconds) else {
            throw .invalid(field)
        }
        self = .milliseconds(milliseconds)
    }

    /// Whole milliseconds; a negative duration is sent as zero.
    var wireMilliseconds: UInt64 { UInt64(max(0, self.milliseconds)) }
}

extension Timestamp {
    /// A point in time that fits into 63 bits.
    init(wireMilliseconds: UInt64, _ field: WireField) throws(FieldFault) {
        guard let milliseconds = Int64(exactly: wireMilliseconds) else { throw .invalid(field) }
        self.init(milliseconds: milliseconds)
    }

    /// Milliseconds since 1970; an earlier time is sent as 1970.
    var wireMilliseconds: UInt64 { UInt64(max(0, self.milliseconds)) }
}
