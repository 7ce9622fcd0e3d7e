internal import HostSystem

/// The result of scanning all records in a file.
struct FleetScan: Equatable {
    var registered = 0
    var torn = 0
    /// The free slots below the last registered one.
    var gaps: [Int] = []
    /// The slot after the last registered one.
    var end = 0

    /// The number of bytes per read, a whole number of records.
    private static let chunk = FleetRecord.byteCount << 14

    /// Scans the first `count` records.
    ///
    /// Records beyond the end of the file are free.
    init(_ file: RecordFile, count: Int) throws(FileError) {
        var slot = 0
        while slot < count {
            let bytes = try file.read(
                min(Self.chunk, (count - slot) * FleetRecord.byteCount),
                at: Fleet.offset(of: slot)
            )
            let whole = bytes.count / FleetRecord.byteCount
            if whole == 0 { break }
            for number in 0..<whole {
                self.note(FleetRecord.kind(of: bytes, at: number * FleetRecord.byteCount), slot + number)
            }
            slot += whole
        }
    }

    private mutating func note(_ kind: FleetRecord.Kind, _ slot: Int) {
        switch kind {
        case .registered:
            self.registered += 1
            // The free slots since the last wallet form a gap.
            self.gaps += self.end..<slot
            self.end = slot + 1
        case .torn: self.torn += 1
        case .free: break
        }
    }
}
