package import AuditLog
internal import Crypto
package import HostSystem
package import Vault
package import Vocabulary
package import WalletStore

/// Makes a backup of a store, also while it is served.
///
///     pages, some at a time ─▶ marked as a backup ─▶ label with digest and MAC ─▶ synced ─▶ final name
///
/// Nothing under the final name is ever a part of a backup. The vault's key is not in it: who has the backup alone has
/// nothing that opens a wallet, and without the key it is worth nothing.
package struct BackupMaker: Sendable {
    /// Pages of one step, and the pause after it: less than a tenth of the store's time.
    private static let pagesAtOnce = 32
    private static let pause: Duration = .milliseconds(2)
    private static let chunk = 1 << 20

    private let store: any MaintenanceStore
    private let vault: any Vault
    private let clock: any WallClock
    private let stateOf: Timestamp?
    private let newestEntry: @Sendable () -> AuditMark

    /// - Parameters:
    ///   - stateOf: the moment whose state the store holds, where that is past.
    ///   - newestEntry: the audit log's.
    package init(
        store: any MaintenanceStore,
        vault: any Vault,
        clock: any WallClock,
        stateOf: Timestamp? = nil,
        newestEntry: @escaping @Sendable () -> AuditMark
    ) {
        self.store = store
        self.vault = vault
        self.clock = clock
        self.stateOf = stateOf
        self.newestEntry = newestEntry
    }

    /// What was made.
    package struct Backup: Hashable, Sendable {
        /// With its label.
        package var byteCount: Int
        /// The moment whose state it holds.
        package var takenAt: Timestamp
        package var epoch: Int
    }

    /// Makes a backup in a file that must not exist yet; told of its progress after each step.
    package func make(
        at path: String,
        progress: @Sendable (_ copied: Int, _ pages: Int) -> Void
    ) async throws(BackupFailure) -> Backup {
        let temporary = path + ".partial"
        do throws(FileError) {
            guard !DurableFile.exists(path) else { throw FileError.exists(path) }
            // What a server that was killed left behind; a running one makes one backup at a time.
            if DurableFile.exists(temporary) { try DurableFile.remove(temporary) }
            try DurableFile.makeEmpty(temporary)
        } catch {
            throw .file(error)
        }
        do throws(BackupFailure) {
            let mark = try await self.copy(to: temporary, progress: progress)
            return try await self.finish(temporary, as: path, mark: mark)
        } catch {
            try? DurableFile.remove(temporary)
            throw error
        }
    }

    /// Copies all pages; the audit log's newest entry at a moment just before the copy was whole.
    private func copy(
        to path: String,
        progress: @Sendable (_ copied: Int, _ pages: Int) -> Void
    ) async throws(BackupFailure) -> AuditMark {
        do throws(StoreCopyError) { try await self.store.beginCopy(to: path) } catch { throw .copy(error) }
        do {
            while true {
                // An entry stands before its commit: what is not in the copy has entries behind this one, or none that
                // says how it ended.
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
            throw (error as? StoreCopyError).map(BackupFailure.copy) ?? .stopped
        }
    }

    private func finish(_ temporary: String, as path: String, mark: AuditMark) async throws(BackupFailure) -> Backup {
        let takenAt = self.stateOf ?? self.clock.now()
        let epoch: Int
        do throws(StoreError) {
            epoch = try await self.store.epochs().count + 1
        } catch {
            throw .copy(.closing)
        }
        let (byteCount, digest): (Int, [UInt8])
        do throws(FileError) {
            try StoreFile.mark(temporary, as: .backup)
            (byteCount, digest) = try await Self.digest(of: temporary)
        } catch {
            throw .file(error)
        }
        let label = BackupLabel(
            takenAt: takenAt,
            epoch: epoch,
            audit: mark,
            pagesByteCount: byteCount,
            digest: digest
        )
        let line: [UInt8]
        do throws(VaultError) { line = try await label.line(by: self.vault) } catch { throw .vault }
        do throws(FileError) {
            try DurableFile.append(line, to: temporary)
            try DurableFile.place(temporary, at: path)
        } catch {
            throw .file(error)
        }
        return Backup(byteCount: byteCount + line.count, takenAt: takenAt, epoch: epoch)
    }

    private static func digest(of path: String) async throws(FileError) -> (Int, [UInt8]) {
        let file = try AppendFile(reading: path)
        var hash = SHA256()
        var count = 0
        while true {
            let bytes = try file.read(at: count, atMost: Self.chunk)
            if bytes.isEmpty { break }
            hash.update(data: bytes)
            count += bytes.count
            // Others have calls to answer on the same threads.
            await Task.yield()
        }
        return (count, Array(hash.finalize()))
    }
}

/// Why there is no backup; nothing was left behind.
package enum BackupFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The backup's file cannot be written: name another, or make room.
    case file(FileError)
    /// The store was not copied.
    case copy(StoreCopyError)
    /// The vault did not answer; again later.
    case vault
    /// The server is stopping.
    case stopped

    package var description: String {
        switch self {
        case .file(let error): error.description
        case .copy(.busy): "another backup is being made"
        case .copy(.closing): "the store is closing"
        case .copy(.diskFull): "no space left on the backup's device"
        case .copy(.unreadable(let code)):
            "the store cannot be read (SQLite's code \(code)): its file or its disk is damaged; keep the backups there are"
        case .copy(.failed(let code)): "the backup's file cannot be written (SQLite's code \(code))"
        case .vault: "the vault did not answer"
        case .stopped: "the server is stopping"
        }
    }
}
