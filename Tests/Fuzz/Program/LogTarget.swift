internal import EmbeddedServer
internal import SQLiteClient
internal import HostSystem
internal import PINPolicy
internal import Secrets
@testable import WalletStore
internal import Vocabulary

/// A killed server's write-ahead log with changed bytes, and the next start of the store.
///
/// An input is a byte of options and ``Patches`` of the log. The mark of the store stays as it was.
final class LogTarget: FuzzTarget {
    let optionByteCount = 1

    /// Bit 0: the checksums of the log are recomputed, so that SQLite reads the changed pages.
    private static let repairsChecksums: UInt8 = 1
    private static let (headerByteCount, frameHeaderByteCount, pageByteCount) = (32, 24, 4096)

    private let queue = JobQueue()
    private let folder: String
    private let key = RecordKey(SecretBytes(copying: [UInt8](repeating: 1, count: 32)))
    private let store, log, mark: [UInt8]
    private static let time = Timestamp(milliseconds: 1_795_000_000_000)

    init(folder: String) throws {
        let live = "\(folder)/live"
        self.folder = "\(folder)/store"
        try DurableFile.makeFolder(live)
        try DurableFile.makeFolder(self.folder)
        let key = self.key
        let files: Result<[[UInt8]], any Error> = self.queue.value {
            do {
                let store = try SQLiteWalletStore.open(folder: live, key: key, creating: true)
                let wallet = StoredTestWallet()
                try await wallet.register(in: store, at: Self.time)
                try await wallet.judge(rightPINs: 3, in: store, at: Self.time)
                let files = try ["", "-wal", "-mark"].map { suffix in
                    try DurableFile.read("\(live)/wallets.db\(suffix)", atMost: 1 << 24)
                }
                await store.close()
                return .success(files)
            } catch {
                return .failure(error)
            }
        }
        let read = try files.get()
        (self.store, self.log, self.mark) = (read[0], read[1], read[2])
    }

    func run(_ input: [UInt8]) {
        guard let options = input.first else { return }
        var log = Patches.apply(input.dropFirst(), to: self.log)
        let isRepaired = options & Self.repairsChecksums != 0
        if isRepaired { Self.repair(&log) }
        self.write(log)
        if isRepaired { self.read() } else { self.start() }
    }

    private func write(_ log: [UInt8]) {
        do throws(FileError) {
            try DurableFile.removeFolder(self.folder)
            try DurableFile.makeFolder(self.folder)
            for (suffix, bytes) in [("", self.store), ("-wal", log), ("-mark", self.mark)] {
                try DurableFile.create(bytes, at: "\(self.folder)/wallets.db\(suffix)")
            }
        } catch {
            fatalError("\(self.folder) cannot be written: \(error)")
        }
    }

    /// Starts the store as a server does: it is rejected, or has every counted attempt.
    private func start() {
        let (folder, key) = (self.folder, self.key)
        let failures: Int? = self.queue.value {
            guard let store = try? SQLiteWalletStore.open(folder: folder, key: key) else { return nil }
            let failures = try? await store.listing(after: nil, limit: 1).first?.attempts?.failures
            await store.close()
            return failures ?? -1
        }
        require(failures == nil || failures == StoredTestWallet.wrongPINs, "a counted attempt is lost")
    }

    /// Reads every row of a store whose pages an attacker has written.
    private func read() {
        let path = "\(self.folder)/wallets.db"
        guard (try? StoreFile.refuseOthers(path, creating: false)) != nil, (try? StoreCheck.look(path)) != nil,
            let database = try? Schema.open(path)
        else { return }
        defer { database.close() }
        do {
            try Schema.current.migrate(database, creating: false, acceptingMoved: false)
            let connection = try StoreConnection(database, key: self.key)
            _ = try ListedWallets(after: nil, limit: 100).run(in: connection)
            _ = try SealedValuesOfWallets(after: nil, limit: 100).run(in: connection)
            _ = try connection.inspect()
        } catch {
            // A damaged store is refused.
        }
    }

    private static func repair(_ log: inout [UInt8]) {
        guard log.count >= self.headerByteCount else { return }
        let isBigEndian = log[3] & 1 == 1
        var sum = LogChecksum()
        func put(_ sum: LogChecksum, at offset: Int, in log: inout [UInt8]) {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: UInt64(sum.first), byteCount: 4)
            bytes.append(bigEndian: UInt64(sum.second), byteCount: 4)
            log.replaceSubrange(offset..<(offset + 8), with: bytes)
        }
        sum.add(log[..<24], isBigEndian: isBigEndian)
        put(sum, at: 24, in: &log)
        let frameByteCount = self.frameHeaderByteCount + self.pageByteCount
        for start in stride(from: self.headerByteCount, through: log.count - frameByteCount, by: frameByteCount) {
            sum.add(log[start..<(start + 8)], isBigEndian: isBigEndian)
            sum.add(log[(start + self.frameHeaderByteCount)..<(start + frameByteCount)], isBigEndian: isBigEndian)
            put(sum, at: start + 16, in: &log)
        }
    }

    var seeds: [[UInt8]] {
        let frame = self.startOfLastFrame
        return [
            [0], [1], [0] + Patches.patch(frame + 4, [0, 0, 0, 0]), [0] + Patches.patch(frame, []),
            [1] + Patches.patch(100, [1, 2, 3]), [1] + Patches.patch(frame + 24, [13, 0, 0, 0, 1]),
        ]
    }

    private var startOfLastFrame: Int { self.log.count - Self.frameHeaderByteCount - Self.pageByteCount }
}
