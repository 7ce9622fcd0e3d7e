internal import AuditLog
internal import Foundation
internal import Vault
internal import Vocabulary

/// What stands behind a backup's pages and says what they are, under the vault's MAC.
///
///     {"remotePINBackup":1,"takenAt":…,"epoch":1,"auditNumber":…,"auditMAC":"…","byteCount":…,"sha256":"…","mac":"…"}
///
/// One line of ``byteCount`` bytes, filled up with spaces. Everything before `,"mac":` is under the MAC, the pages through
/// their digest: a changed count, a revocation taken back, a page of another backup are found before anything is restored.
struct BackupLabel: Hashable {
    /// When the copy was whole, milliseconds since 1970.
    var takenAt: Timestamp
    var epoch: Int
    /// The audit log's newest entry when the copy was about to be whole: what follows it has to be replayed.
    var audit: AuditMark
    /// The length of the pages.
    var pagesByteCount: Int
    /// SHA-256 of the pages.
    var digest: [UInt8]

    /// The length of every label; room for the longest numbers.
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
    }

    /// The line.
    func line(by vault: any Vault) async throws(VaultError) -> [UInt8] {
        let text =
            "{\"remotePINBackup\":1,\"takenAt\":\(self.takenAt.milliseconds),\"epoch\":\(self.epoch),"
            + "\"auditNumber\":\(self.audit.number),\"auditMAC\":\"\(self.audit.mac)\","
            + "\"byteCount\":\(self.pagesByteCount),\"sha256\":\"\(self.digest.hex)\""
        let message = Array(text.utf8)
        let mac = try await vault.mac(message, for: .backup)
        let line = message + Self.macName + Array(mac.hex.utf8) + Self.end
        precondition(line.count < Self.byteCount, "a label has room for the longest numbers")
        return line + [UInt8](repeating: 0x20, count: Self.byteCount - 1 - line.count) + [0x0A]
    }

    /// Why bytes are no label.
    enum Problem: Error {
        /// They do not read as one: the file is no backup, or not a whole one.
        case none
        /// They do, and this vault did not make it, or not so.
        case foreign
    }

    /// Reads a line that this vault made, and nothing else.
    static func read(_ bytes: [UInt8], by vault: any Vault) async throws -> BackupLabel {
        guard bytes.count == Self.byteCount, bytes.last == 0x0A else { throw Problem.none }
        let filling = bytes.dropLast().reversed().prefix { $0 == 0x20 }.count
        let line = Array(bytes.dropLast(1 + filling))
        let tail = Self.macName.count + 64 + Self.end.count
        guard line.count > tail, line.suffix(Self.end.count) == Self.end[...] else { throw Problem.none }
        let message = Array(line.dropLast(tail))
        let name = line.dropLast(tail - Self.macName.count).suffix(Self.macName.count)
        let digits = line.dropLast(Self.end.count).suffix(64)
        guard name == Self.macName[...], let mac = [UInt8](hex: String(decoding: digits, as: UTF8.self)),
            let body = try? JSONDecoder().decode(Body.self, from: Data(line)), body.remotePINBackup == 1,
            let mark = AuditMark("\(body.auditNumber):\(body.auditMAC)"), let digest = [UInt8](hex: body.sha256),
            digest.count == 32, body.byteCount >= 0, body.epoch > 0
        else { throw Problem.none }
        guard try await vault.isMAC(mac, of: message, for: .backup) else { throw Problem.foreign }
        return BackupLabel(
            takenAt: Timestamp(milliseconds: body.takenAt),
            epoch: body.epoch,
            audit: mark,
            pagesByteCount: body.byteCount,
            digest: digest
        )
    }
}
