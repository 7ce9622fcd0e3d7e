internal import Crypto
internal import Foundation
internal import Vocabulary

/// The line of an entry in the file, and the part of it that the MAC covers.
///
///     {"number":7,"previous":"0-…","actor":…,…,"mac":"0-…"}
///
/// The MAC covers everything before `,"mac":`, byte for byte, so no canonical form is needed. Number and
/// predecessor come first and are compared as bytes: an entry fits one position only. A line after the remains of a
/// crash describes them between the two: `"torn":{"bytes":17,"sha256":"…"}`.
enum AuditLine {
    /// The key that made the MAC: 0 is the vault's index key, which is never rotated.
    private static let keyPrefix = "0-"
    private static let macByteCount = 32
    /// The predecessor's MAC in the first entry.
    static let noMAC = Self.keyPrefix + String(repeating: "0", count: 2 * Self.macByteCount)
    private static let macName = Array(",\"mac\":\"".utf8)
    private static let end = Array("\"}".utf8)
    private static var macTextByteCount: Int { Self.noMAC.utf8.count }

    /// The beginning of the entry's line after `last`; `torn` holds the bytes that a crash left between the two.
    static func beginning(after last: AuditMark?, torn: [UInt8]) -> [UInt8] {
        var text = "{\"number\":\((last?.number ?? 0) + 1),"
        if !torn.isEmpty {
            text += "\"torn\":{\"bytes\":\(torn.count),\"sha256\":\"\(Array(SHA256.hash(data: torn)).hex)\"},"
        }
        return Array((text + "\"previous\":\"\(last?.mac ?? Self.noMAC)\",").utf8)
    }

    /// The bytes that the MAC covers.
    static func message(_ beginning: [UInt8], _ record: AuditRecord) -> [UInt8] {
        beginning + AuditBody(record).json().dropFirst().dropLast()
    }

    static func mac(_ bytes: [UInt8]) -> String { Self.keyPrefix + bytes.hex }

    /// The line, including its line feed.
    static func line(_ message: [UInt8], mac: String) -> [UInt8] {
        message + Self.macName + Array(mac.utf8) + Self.end + [0x0A]
    }

    /// Splits a line without its line feed into message and MAC; returns nil if it does not have the form.
    static func parts(of line: ArraySlice<UInt8>) -> (message: ArraySlice<UInt8>, mac: [UInt8])? {
        let tail = Self.macName.count + Self.macTextByteCount + Self.end.count
        guard line.count > tail, line.suffix(Self.end.count).elementsEqual(Self.end) else { return nil }
        let mac = line.dropLast(Self.end.count).suffix(Self.macTextByteCount)
        let name = line.dropLast(tail - Self.macName.count).suffix(Self.macName.count)
        guard name.elementsEqual(Self.macName), Self.isMAC(mac),
            let bytes = [UInt8](hex: String(decoding: mac.dropFirst(Self.keyPrefix.utf8.count), as: UTF8.self))
        else { return nil }
        return (line.dropLast(tail), bytes)
    }

    /// Returns whether a text is a MAC: key and lower-case digits, so that each MAC has one spelling.
    static func isMAC(_ text: some Collection<UInt8>) -> Bool {
        text.count == Self.macTextByteCount && text.starts(with: Self.keyPrefix.utf8)
            && text.dropFirst(Self.keyPrefix.utf8.count).allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
            }
    }

    /// Decodes the entry in a line; returns nil if it cannot be read.
    static func entry(in line: ArraySlice<UInt8>) -> AuditEntry? {
        struct Place: Decodable { let number: UInt64 }
        let data = Data(line)
        guard let place = try? JSONDecoder().decode(Place.self, from: data),
            let record = (try? JSONDecoder().decode(AuditBody.self, from: data))?.record
        else { return nil }
        return AuditEntry(number: place.number, record: record)
    }
}

/// The JSON form of a record.
private struct AuditBody: Codable {
    let time: String
    let epoch: Int
    let actor: String
    let event: String
    let wallets: [String]?
    let recoveryCodeMAC: String?
    let detail: String?
    let phase: String
    let of: UInt64?
    let result: String?
    let reason: String?

    init(_ record: AuditRecord) {
        self.time = AuditTime.text(of: record.at)
        self.epoch = record.epoch
        self.actor = record.actor.rawValue
        self.event = record.event.rawValue
        self.wallets = record.subject.wallets.isEmpty ? nil : record.subject.wallets.map(\.description)
        self.recoveryCodeMAC = record.subject.recoveryCode?.description
        self.detail = record.detail
        switch record.phase {
        case .begun: (self.phase, self.of, self.result, self.reason) = ("begun", nil, nil, nil)
        case .done(let of, let result): (self.phase, self.of, self.result, self.reason) = ("done", of, result, nil)
        case .failed(let of, let reason): (self.phase, self.of, self.result, self.reason) = ("failed", of, nil, reason)
        case .unclear(let of, let reason):
            (self.phase, self.of, self.result, self.reason) = ("unclear", of, nil, reason)
        }
    }

    var record: AuditRecord? {
        let wallets = (self.wallets ?? []).compactMap { WalletID(hex: $0) }
        let mac = self.recoveryCodeMAC.flatMap { RecoveryCodeMAC(hex: $0) }
        let phase: AuditPhase
        switch self.phase {
        case "begun": phase = .begun
        case "done": phase = .done(of: self.of, result: self.result ?? "")
        case "failed": phase = .failed(of: self.of, reason: self.reason ?? "")
        case "unclear":
            guard let of else { return nil }
            phase = .unclear(of: of, reason: self.reason ?? "")
        default: return nil
        }
        guard let at = AuditTime.time(of: self.time), wallets.count == self.wallets?.count ?? 0,
            (mac == nil) == (self.recoveryCodeMAC == nil)
        else { return nil }
        return AuditRecord(
            at: at,
            epoch: self.epoch,
            actor: AuditActor(rawValue: self.actor),
            event: AuditEvent(recorded: self.event),
            subject: AuditSubject(wallets: wallets, recoveryCode: mac),
            phase: phase,
            detail: self.detail
        )
    }

    func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("strings and numbers can always be encoded as JSON")
        }
        return Array(data)
    }
}

/// Times as ISO 8601 in UTC, with milliseconds.
enum AuditTime {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    static func text(of time: Timestamp) -> String {
        // Formatting truncates; adding half a millisecond keeps the last digit.
        Date(timeIntervalSince1970: (Double(time.milliseconds) + 0.5) / 1000).formatted(Self.style)
    }

    static func time(of text: String) -> Timestamp? {
        guard let date = try? Date(text, strategy: Self.style),
            let milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded())
        else { return nil }
        return Timestamp(milliseconds: milliseconds)
    }
}
