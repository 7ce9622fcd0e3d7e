/// The extensions of a ClientHello or a ServerHello in a single record.
struct HelloExtensions {
    private let record: [UInt8]
    /// The offset of the length of all extensions.
    let lengthPlace: Int

    init(in record: [UInt8]) {
        self.record = record
        // The record's header, the message's header, the version, the random value.
        var place = 5 + 4 + 2 + 32
        place += 1 + Int(record[place])
        let isClientHello = record[5] == 1
        // Lists of cipher suites and compression methods, or one of each.
        place += isClientHello ? 2 + record.number(at: place) : 2
        place += isClientHello ? 1 + Int(record[place]) : 1
        self.lengthPlace = place
    }

    /// Returns the offsets of an extension's data, or nil if the message does not have the extension.
    func range(of type: Int) -> Range<Int>? {
        var place = self.lengthPlace + 2
        let end = place + self.record.number(at: self.lengthPlace)
        while place < end {
            let data = place + 4..<place + 4 + self.record.number(at: place + 2)
            if self.record.number(at: place) == type { return data }
            place = data.upperBound
        }
        return nil
    }

    /// Returns an extension's data, or nil if the message does not have the extension.
    func data(of type: Int) -> [UInt8]? { self.range(of: type).map { Array(self.record[$0]) } }
}

extension [UInt8] {
    /// Returns the number in two bytes, which are in network order.
    func number(at place: Int) -> Int { Int(self[place]) << 8 | Int(self[place + 1]) }

    /// Replaces two bytes.
    mutating func setNumber(_ number: Int, at place: Int) {
        (self[place], self[place + 1]) = (UInt8(number >> 8), UInt8(number & 0xFF))
    }
}
