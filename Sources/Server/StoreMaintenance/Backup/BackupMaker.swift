package import AuditLog
internal import Crypto
internal import Foundation
package import HostSystem
package import Vault
package import Vocabulary
package import WalletStore

/// Makes a backup of a store, which may be in use.
///
///     pages, a few at a time ─▶ marked as a backup ─▶ label with digest and MAC ─▶ synced ─▶ final name
///
/// A file with the final name is always complete. The backup does not contain the vault key: without the key, the
/// backup is useless, and nobody can open a wallet with it.
package struct BackupMaker: Sendable {
    /// The number of pages copied in one step, and the pause after each step.
    ///
    /// Together, they use less than a tenth of the store's time.
    private static let pagesAtOnce = 32
    private static let pause: Duration = .milliseconds(2)
    private static let chunk = 1 << 20

    private let store: SQLiteWalletStore
    private let vault: any Vault
    private let clock: any WallClock
    private let stateOf: Timestamp?
    private let isDamaged: Bool
    private let newestEntry: @Sendable () -> AuditMark

    /// - Parameters:
    ///   - stateOf: The point in time that the store reflects, if not the present.
    ///   - isDamaged: Whether the store was opened although it lacks counted attempts.
    ///   - newestEntry: Returns the newest audit log entry.
    package init(
        store: SQLiteWalletStore,
        vault: any Vault,
        clock: any WallClock,
        stateOf: Timestamp? = nil,
        isDamaged: Bool = false,
        newestEntry: @escaping @Sendable () -> AuditMark
    ) {
        self.store = store
        self.vault = vault
        self.clock = clock
        self.stateOf = stateOf
        self.isDamaged = isDamaged
        self.newestEntry = newestEntry
    }

    /// A finished backup.
    package struct Backup: Hashable, Sendable {
        /// The size of the file, including the label.
        package var byteCount: Int
        /// The point in time that the backup reflects.
        package var takenAt: Timestamp
        package var epoch: Int
    }

    /// Makes a backup in a file that must not exist yet.
    ///
    /// Reports progress after each step.
    package func make(
        at path: String,
        progress: @Sendable (_ copied: Int, _ pages: Int) -> Void
    ) async throws(BackupFailure) -> Backup {
        let temporary = path + ".partial"
        do {
            guard !DurableFile.isNamed(path) else { throw FileError.exists(path) }
            // This file was left behind by a killed server: a running server makes only one backup at a time.
            if DurableFile.isNamed(temporary) { try DurableFile.remove(temporary) }
            try DurableFile.makeEmpty(temporary)
            do {
                let mark = try await self.copy(to: temporary, progress: progress)
                return try await self.finish(temporary, as: path, mark: mark)
            } catch {
                try? DurableFile.remove(temporary)
                throw error
            }
        } catch {
            throw BackupFailure(error)
        }
    }

    /// Copies all pages.
    ///
    /// Returns the newest audit log entry just before the copy was complete.
    private func copy(
        to path: String,
        progress: @Sendable (_ copied: Int, _ pages: Int) -> Void
    ) async throws -> AuditMark {
        try await self.store.beginCopy(to: path)
        do {
            while true {
                // An entry precedes its commit. Each commit that the copy lacks therefore has an entry after this one,
                // or a begun entry before it with no recorded outcome.
                let mark = self.newestEntry()
                let step = try await self.store.stepCopy(pages: Self.pagesAtOnce)
                progress(step.copied, step.pages)
                if step.isWhole {
                    try await self.store.endCopy()
                    return mark
                }
                try await Task.sleep(for: Self.pause)
            }
        } catch {
            try? await self.store.endCopy()
            throw error
        }
    }

    private func finish(_ temporary: String, as path: String, mark: AuditMark) async throws -> Backup {
        let takenAt = self.stateOf ?? self.clock.now()
        let epoch = try await self.store.epochs().count + 1
        try StoreFile.mark(temporary, as: .backup)
        let differences = StoreFile.schemaDifferences(in: temporary)
        guard differences.isEmpty else { throw BackupFailure.otherSchema(differences) }
        let findings = await StoreFile.findings(in: temporary)
        guard findings.isEmpty else { throw BackupFailure.unsound(findings) }
        let (byteCount, digest) = try await Self.digest(of: temporary)
        let label = BackupLabel(
            takenAt: takenAt,
            epoch: epoch,
            audit: mark,
            pagesByteCount: byteCount,
            digest: digest,
            isDamaged: self.isDamaged
        )
        let line = label.line(by: self.vault)
        try DurableFile.append(line, to: temporary)
        try DurableFile.place(temporary, at: path)
        return Backup(byteCount: byteCount + line.count, takenAt: takenAt, epoch: epoch)
    }

    private static func digest(of path: String) async throws -> (Int, [UInt8]) {
        let file = try AppendFile(reading: path)
        var hash = SHA256()
        var count = 0
        while true {
            let bytes = try file.read(at: count, atMost: Self.chunk)
            if bytes.isEmpty { break }
            hash.update(data: bytes)
            count += bytes.count
            // Let calls run, because they are answered on the same threads.
            await Task.yield()
        }
        return (count, Array(hash.finalize()))
    }
}

/// A reason why no backup was made.
///
/// No file is left behind.
package enum BackupFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The backup file cannot be written.
    ///
    /// Choose another file or free some disk space.
    case file(FileError)
    /// The store was not copied.
    case copy(StoreCopyError)
    /// The copied database is damaged, just like the store.
    ///
    /// Restore an earlier backup. The associated value contains SQLite's findings.
    case unsound([String])
    /// The store's database has objects that this program does not make.
    ///
    /// Restore an earlier backup.
    case otherSchema([String])
    /// The server is stopping.
    case stopped

    /// Converts an error thrown by a step of the backup.
    fileprivate init(_ error: any Error) {
        self =
            switch error {
            case let error as BackupFailure: error
            case let error as FileError: .file(error)
            case let error as StoreCopyError: .copy(error)
            case is StoreError: .copy(.closing)
            default: .stopped
            }
    }

    package var description: String {
        switch self {
        case .file(let error): error.description
        case .copy(.busy): "another backup is being made"
        case .copy(.closing): "the store is closing"
        case .copy(.diskFull): "the backup's disk is full, or a quota or limit on file sizes is reached"
        case .copy(.unreadable(let code)):
            "the store cannot be read (\(code)): its file or its disk is damaged; keep the existing backups"
        case .copy(.failed(let code)): "the backup's file cannot be written (\(code))"
        case .copy(.inStoreFolder):
            "the backup would lie in the data folder, among the store's own files; name another folder"
        case .unsound(let findings):
            "the store's database is damaged (\(findings.joined(separator: "; "))); keep the existing backups and "
                + "restore one"
        case .otherSchema(let differences): StoreOpenError.otherSchema(differences).description
        case .stopped: "the server is stopping"
        }
    }
}

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
    func line(by vault: any Vault) -> [UInt8] {
        let text =
            "{\"remotePINBackup\":1,\"takenAt\":\(self.takenAt.milliseconds),\"epoch\":\(self.epoch),"
            + "\"auditNumber\":\(self.audit.number),\"auditMAC\":\"\(self.audit.mac)\","
            + "\"byteCount\":\(self.pagesByteCount),\"sha256\":\"\(self.digest.hex)\""
            + (self.isDamaged ? ",\"damaged\":true" : "")
        let message = Array(text.utf8)
        let mac = vault.mac(message, for: .backup)
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
    static func read(_ bytes: [UInt8], by vault: any Vault) throws(Problem) -> BackupLabel {
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
        // rule: server-backup-label-not-verified
        guard vault.isMAC(mac, of: message, for: .backup) else { throw Problem.foreign }
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

/// The backups recorded in an audit log.
package struct BackupHistory: Sendable {
    /// The time at which the newest completed backup was recorded.
    package private(set) var lastMade: Timestamp?
    /// The time and reason of the newest failure, or nil if a backup has been completed since.
    package private(set) var failure: (at: Timestamp, reason: String)?

    package init() {}

    /// The result that a running server records when copying begins.
    ///
    /// Another entry records the end.
    private static let begun = "begun"

    /// Processes the next log entry.
    package mutating func read(_ entry: AuditEntry) {
        guard entry.record.event == .backup else { return }
        switch entry.record.phase {
        case .begun, .done(_, Self.begun): break
        case .done: (self.lastMade, self.failure) = (entry.record.at, nil)
        case .failed(_, let reason), .unclear(_, let reason): self.failure = (entry.record.at, reason)
        }
    }
}
