internal import Crypto
internal import Foundation
internal import Vault
internal import Vocabulary

/// An entry's line in the file, and the part of it covered by the MAC.
///
///     {"number":7,"previous":"1-…","actor":…,…,"mac":"1-…"}
///
/// The number before the digits of a MAC is the version of its key.
///
/// The MAC covers everything before `,"mac":` byte for byte, so no canonical form is needed. The number and the
/// predecessor's MAC come first and are compared as bytes, so that an entry is valid in only one position. If a crash
/// left bytes before a line, the line describes them between these two members: `"torn":{"bytes":17,"sha256":"…"}`.
enum AuditLine {
    /// The MAC that the first entry names in place of a predecessor's.
    static let noMAC = "0-" + String(repeating: "0", count: 2 * VersionedMAC.macByteCount)
    private static let macName = Array(",\"mac\":\"".utf8)
    private static let end = Array("\"}".utf8)

    /// Returns the beginning of the line after `last`.
    ///
    /// - Parameter torn: The bytes left by a crash between the two lines.
    static func beginning(after last: AuditMark?, torn: [UInt8]) -> [UInt8] {
        var text = "{\"number\":\((last?.number ?? 0) + 1),"
        if !torn.isEmpty {
            text += "\"torn\":{\"bytes\":\(torn.count),\"sha256\":\"\(Array(SHA256.hash(data: torn)).hex)\"},"
        }
        return Array((text + "\"previous\":\"\(last?.mac ?? Self.noMAC)\",").utf8)
    }

    /// Returns the bytes covered by the MAC.
    static func message(_ beginning: [UInt8], _ record: AuditRecord) -> [UInt8] {
        beginning + AuditBody(record).json().dropFirst().dropLast()
    }

    /// Returns the text form of a MAC made by the vault.
    static func mac(_ bytes: [UInt8]) -> String {
        guard let mac = VersionedMAC(bytes) else { preconditionFailure("the vault makes MACs of this form") }
        return mac.description
    }

    /// Returns the line, including its line feed.
    static func line(_ message: [UInt8], mac: String) -> [UInt8] {
        message + Self.macName + Array(mac.utf8) + Self.end + [0x0A]
    }

    /// Splits a line without its line feed into the message and the MAC, or returns nil if the line is malformed.
    static func parts(of line: ArraySlice<UInt8>) -> (message: ArraySlice<UInt8>, mac: VersionedMAC)? {
        guard line.suffix(Self.end.count).elementsEqual(Self.end) else { return nil }
        let rest = line.dropLast(Self.end.count)
        // The text of a MAC contains no quotation mark.
        guard let quote = rest.lastIndex(of: UInt8(ascii: "\"")), let mac = VersionedMAC(text: rest[(quote + 1)...])
        else { return nil }
        let head = rest[...quote]
        guard head.suffix(Self.macName.count).elementsEqual(Self.macName) else { return nil }
        return (head.dropLast(Self.macName.count), mac)
    }

    /// Returns whether the text has the format of a MAC.
    static func isMAC(_ text: some Collection<UInt8>) -> Bool { VersionedMAC(text: text) != nil }

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

/// The JSON representation of a record.
private struct AuditBody: Codable {
    let time: String
    let epoch: Int
    let generation: UInt64?
    let server: String?
    let servers: [String]?
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
        self.time = record.at.text
        self.epoch = record.epoch
        self.generation = record.generation
        self.server = record.server
        self.servers = record.servers
        self.actor = record.actor.rawValue
        self.event = record.event.rawValue
        self.wallets = record.subject.wallets.isEmpty ? nil : record.subject.wallets.map(\.description)
        self.recoveryCodeMAC = record.subject.recoveryCode?.description
        self.detail = record.detail
        self.phase = record.phase.name
        switch record.phase {
        case .begun: (self.of, self.result, self.reason) = (nil, nil, nil)
        case .done(let of, let result): (self.of, self.result, self.reason) = (of, result, nil)
        case .failed(let of, let reason): (self.of, self.result, self.reason) = (of, nil, reason)
        case .unclear(let of, let reason): (self.of, self.result, self.reason) = (of, nil, reason)
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
        guard let at = Timestamp(text: self.time), wallets.count == self.wallets?.count ?? 0,
            (mac == nil) == (self.recoveryCodeMAC == nil)
        else { return nil }
        return AuditRecord(
            at: at,
            epoch: self.epoch,
            actor: AuditActor(rawValue: self.actor),
            event: AuditEvent(rawValue: self.event),
            subject: AuditSubject(wallets: wallets, recoveryCode: mac),
            phase: phase,
            detail: self.detail,
            generation: self.generation,
            server: self.server,
            servers: self.servers
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
