internal import AuditLog
internal import Foundation
internal import Vault
internal import Vocabulary

/// The label at the end of a backup.
///
/// It describes the backup's pages and is authenticated by the vault.
///
///     {"remotePINBackup":1,"takenAt":…,"epoch":1,"auditNumber":…,"auditMAC":"…","byteCount":…,"sha256":"…","mac":"…"}
///
/// It is a single line of ``byteCount`` bytes, padded with spaces. The MAC covers everything before `,"mac":` directly,
/// and the pages through their digest. A changed attempt count, an undone revocation or a page from another backup is
/// therefore detected before a restore begins.
struct BackupLabel: Hashable {
    /// The time at which the copy was complete, stored in milliseconds since 1970.
    var takenAt: Timestamp
    var epoch: Int
    /// The newest audit log entry just before the copy was complete.
    ///
    /// A restore replays the entries after it.
    var audit: AuditMark
    /// The total length of the pages.
    var pagesByteCount: Int
    /// The SHA-256 digest of the pages.
    var digest: [UInt8]
    /// Whether the store lacked counted attempts when it was copied, in which case a restore must charge for them.
    var isDamaged = false

    /// The name of the backup in the audit log, made from the beginning of the digest.
    ///
    /// Restores of the backup are counted under this name.
    var name: String { "sha256 \(Array(self.digest.prefix(8)).hex)" }

    /// The length of every label, large enough for the longest numbers.
    static let byteCount = 512
    private static let macName = Array(",\"mac\":\"".utf8)
    private static let end = Array("\"}".utf8)

    private struct Body: Decodable {
        let remotePINBackup: Int
        let takenAt: Int64
        let epoch: Int
        let auditNumber: UInt64
        let auditMAC: String
        let byteCount: Int
        let sha256: String
        let damaged: Bool?
    }

    /// Returns the label as a line of text.
    func line(by vault: any Vault) async throws -> [UInt8] {
        let text =
            "{\"remotePINBackup\":1,\"takenAt\":\(self.takenAt.milliseconds),\"epoch\":\(self.epoch),"
            + "\"auditNumber\":\(self.audit.number),\"auditMAC\":\"\(self.audit.mac)\","
            + "\"byteCount\":\(self.pagesByteCount),\"sha256\":\"\(self.digest.hex)\""
            + (self.isDamaged ? ",\"damaged\":true" : "")
        let message = Array(text.utf8)
        let mac = try await vault.mac(message, for: .backup)
        let line = message + Self.macName + Array(mac.hex.utf8) + Self.end
        precondition(line.count < Self.byteCount, "a label fits the longest numbers")
        return line + [UInt8](repeating: 0x20, count: Self.byteCount - 1 - line.count) + [0x0A]
    }

    /// A reason why bytes are not accepted as a label.
    enum Problem: Error {
        /// The bytes cannot be decoded, so the file is not a backup or is incomplete.
        case malformed
        /// The label was made with another vault, or it was changed.
        case foreign
    }

    /// Decodes a line made with this vault.
    ///
    /// Any other line is rejected.
    static func read(_ bytes: [UInt8], by vault: any Vault) async throws -> BackupLabel {
        guard bytes.count == Self.byteCount, bytes.last == 0x0A else { throw Problem.malformed }
        let filling = bytes.dropLast().reversed().prefix { $0 == 0x20 }.count
        let line = Array(bytes.dropLast(1 + filling))
        let tail = Self.macName.count + 64 + Self.end.count
        guard line.count > tail, line.suffix(Self.end.count) == Self.end[...] else { throw Problem.malformed }
        let message = Array(line.dropLast(tail))
        let name = line.dropLast(tail - Self.macName.count).suffix(Self.macName.count)
        let digits = line.dropLast(Self.end.count).suffix(64)
        guard name == Self.macName[...], let mac = [UInt8](hex: String(decoding: digits, as: UTF8.self)),
            let body = try? JSONDecoder().decode(Body.self, from: Data(line)), body.remotePINBackup == 1,
            let mark = AuditMark("\(body.auditNumber):\(body.auditMAC)"), let digest = [UInt8](hex: body.sha256),
            digest.count == 32, body.byteCount >= 0, body.epoch > 0
        else { throw Problem.malformed }
        guard try await vault.isMAC(mac, of: message, for: .backup) else { throw Problem.foreign }
        return BackupLabel(
            takenAt: Timestamp(milliseconds: body.takenAt),
            epoch: body.epoch,
            audit: mark,
            pagesByteCount: body.byteCount,
            digest: digest,
            isDamaged: body.damaged ?? false
        )
    }
}
