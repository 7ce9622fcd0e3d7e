internal import Vocabulary

// Times in messages are sent as unsigned milliseconds.

extension Duration {
    /// Creates a duration from a number of milliseconds, which must be in `range`.
    init(wireMilliseconds: UInt64, _ field: WireField, in range: ClosedRange<UInt64>) throws(FieldFault) {
        guard range.contains(wireMilliseconds), let milliseconds = Int64(exactly: wireMilliseconds) else {
            throw .invalid(field)
        }
        self = .milliseconds(milliseconds)
    }

    /// The duration in whole milliseconds.
    ///
    /// Negative durations are sent as zero.
    var wireMilliseconds: UInt64 { UInt64(max(0, self.milliseconds)) }
}

extension Timestamp {
    /// Creates a point in time, which must fit into 63 bits.
    init(wireMilliseconds: UInt64, _ field: WireField) throws(FieldFault) {
        guard let milliseconds = Int64(exactly: wireMilliseconds) else { throw .invalid(field) }
        self.init(milliseconds: milliseconds)
    }

    /// The time in milliseconds since 1970.
    ///
    /// Earlier times are sent as 1970.
    var wireMilliseconds: UInt64 { UInt64(max(0, self.milliseconds)) }
}
