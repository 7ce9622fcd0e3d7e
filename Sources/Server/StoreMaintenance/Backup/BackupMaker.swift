package import AuditLog
internal import Crypto
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
        let line = try await label.line(by: self.vault)
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
    /// The vault did not answer.
    ///
    /// Retry later.
    case vault
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
            case is VaultError: .vault
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
        case .vault: "the vault did not answer"
        case .stopped: "the server is stopping"
        }
    }
}
