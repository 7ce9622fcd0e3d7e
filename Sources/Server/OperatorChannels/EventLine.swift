internal import FoundationEssentials
internal import Vocabulary

/// An event as sent to receivers: one JSON object per line (docs/hook-event.schema.json).
struct EventLine: Encodable {
    /// The format version.
    ///
    /// It changes if a receiver of the old version could misread a line.
    static let format = "remote-pin-event/1"

    /// The number of the event, starting at 1 each time the server starts.
    ///
    /// A gap means that events were dropped.
    let number: UInt64
    let time: Timestamp
    let content: Content

    /// The contents of a line.
    enum Content {
        case wallet(WalletIncident)
        /// The number of lines dropped because the receiver was slow or missing.
        case dropped(Int)
    }

    /// The encoded line, including the newline.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { preconditionFailure("strings and numbers always encode") }
        return Array(data) + [0x0A]
    }

    private enum Key: String, CodingKey {
        case format, number, time, event, wallet, until, reason, count
        case mayRegisterAnew = "may_register_anew"
    }

    func encode(to encoder: any Encoder) throws {
        var line = encoder.container(keyedBy: Key.self)
        try line.encode(Self.format, forKey: .format)
        try line.encode(self.time.text, forKey: .time)
        switch self.content {
        case .dropped(let count):
            try line.encode("dropped", forKey: .event)
            try line.encode(count, forKey: .count)
            return
        case .wallet(.blocked(let wallet, let until)):
            try line.encode("blocked", forKey: .event)
            try line.encode("\(wallet)", forKey: .wallet)
            try line.encode(until.text, forKey: .until)
        case .wallet(.blockedPermanently(let wallet)):
            try line.encode("blocked-permanently", forKey: .event)
            try line.encode("\(wallet)", forKey: .wallet)
        case .wallet(.revoked(let wallet, let revocation)):
            try line.encode("revoked", forKey: .event)
            try line.encode("\(wallet)", forKey: .wallet)
            try line.encode(revocation.reason.rawValue, forKey: .reason)
            try line.encode(revocation.mayRegisterAnew, forKey: .mayRegisterAnew)
        case .wallet(.solutionRevoked): try line.encode("solution-revoked", forKey: .event)
        case .wallet(.solutionRestored): try line.encode("solution-restored", forKey: .event)
        }
        try line.encode(self.number, forKey: .number)
    }
}
