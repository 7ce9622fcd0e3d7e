internal import FoundationEssentials
internal import Vocabulary

/// An event as its receivers get it: one JSON object in a line (docs/hook-event.schema.json).
struct EventLine: Encodable {
    /// Raised when a receiver that knows this one could take the line for something else.
    static let format = "remote-pin-event/1"

    /// From 1 since the server's start, by one: what is missing was dropped.
    let number: UInt64
    let time: Timestamp
    let what: What

    /// What it tells of.
    enum What {
        case wallet(WalletIncident)
        /// So many lines were not kept, since the receiver was too slow or away.
        case dropped(Int)
    }

    /// The line with its end.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { preconditionFailure("texts and numbers are JSON") }
        return Array(data) + [0x0A]
    }

    private enum Key: String, CodingKey {
        case format, number, time, event, wallet, until, reason, count
        case mayRegisterAnew = "may_register_anew"
    }

    func encode(to encoder: any Encoder) throws {
        var line = encoder.container(keyedBy: Key.self)
        try line.encode(Self.format, forKey: .format)
        try line.encode(self.time.iso8601, forKey: .time)
        switch self.what {
        case .dropped(let count):
            try line.encode("dropped", forKey: .event)
            try line.encode(count, forKey: .count)
            return
        case .wallet(.blocked(let wallet, let until)):
            try line.encode("blocked", forKey: .event)
            try line.encode("\(wallet)", forKey: .wallet)
            try line.encode(until.iso8601, forKey: .until)
        case .wallet(.blockedPermanently(let wallet)):
            try line.encode("blocked-permanently", forKey: .event)
            try line.encode("\(wallet)", forKey: .wallet)
        case .wallet(.revoked(let wallet, let revocation)):
            try line.encode("revoked", forKey: .event)
            try line.encode("\(wallet)", forKey: .wallet)
            try line.encode(revocation.reason.rawValue, forKey: .reason)
            try line.encode(revocation.mayRegisterAnew, forKey: .mayRegisterAnew)
        case .wallet(.solutionRevoked):
            try line.encode("solution-revoked", forKey: .event)
        case .wallet(.solutionRestored):
            try line.encode("solution-restored", forKey: .event)
        }
        try line.encode(self.number, forKey: .number)
    }
}

extension Timestamp {
    /// In UTC with milliseconds: `2026-12-24T18:00:00.000Z`.
    fileprivate var iso8601: String {
        // What is formatted is cut off, not rounded: half a millisecond more keeps the last digit.
        Date(timeIntervalSince1970: (Double(self.milliseconds) + 0.5) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
