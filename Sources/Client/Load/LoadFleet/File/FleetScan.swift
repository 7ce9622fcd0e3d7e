internal import HostSystem

/// What a look at all records of a file finds.
struct FleetScan: Equatable {
    var registered = 0
    var torn = 0
    /// Slots without a wallet below the last one with one.
    var gaps: [Int] = []
    /// The slot after the last one with a wallet.
    var end = 0

    /// Bytes read at once; whole records.
    private static let chunk = FleetRecord.byteCount << 14

    init() {}

    /// Looks at the first `count` records; those that the file is too short for are free.
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
            // What lay free since the last wallet lies between two.
            self.gaps += self.end..<slot
            self.end = slot + 1
        case .torn: self.torn += 1
        case .free: break
        }
    }
}
