internal import Dispatch
internal import HostSystem
internal import Synchronization

/// The number of values sealed with each key version.
///
/// It is durable and never too low. Since nonces are random, a key must not seal more than 2^32 values (NIST SP 800-38D
/// §8.3). The count is reserved in the file in blocks. A whole block is durably counted as used before its first value
/// is sealed, so a crash can skip numbers but never repeat them. A process starts with a small block, so that frequent
/// restarts skip few numbers. The limit per file is 2^28. This allows for a key file to be copied to other servers, or
/// restored without its count, up to sixteen times in total.
final class SealCount: Sendable {
    static let limit: UInt64 = 1 << 28
    /// The maximum block size.
    ///
    /// A process starts with ``firstBlockSize`` and doubles the size for each further block.
    static let blockSize: UInt64 = 1 << 16
    static let firstBlockSize: UInt64 = 1 << 8

    private let path: String
    private let limit: UInt64
    private let blockSize: UInt64
    /// The block reserved last.
    private struct Block {
        var size: UInt64
        var left: UInt64
    }

    /// The current block of each key version.
    private let blocks = Mutex<[UInt32: Block]>([:])
    /// Waits for the file, because callers run on event loops that also serve other connections.
    private let onDisk: BlockingWork

    init(
        path: String,
        limit: UInt64 = SealCount.limit,
        blockSize: UInt64 = SealCount.blockSize,
        onDisk: @escaping BlockingWork = DispatchQueue.blockingWork("vault count")
    ) {
        self.path = path
        self.onDisk = onDisk
        self.limit = limit
        self.blockSize = blockSize
    }

    /// Counts one value.
    ///
    /// Returns false if the version has reached its limit or the count cannot be stored. Suspends once per block to
    /// wait for the disk, but never blocks the caller's thread.
    func take(_ version: UInt32) async -> Bool {
        if self.takeOfBlock(version) { return true }
        return await withCheckedContinuation { continuation in
            self.onDisk { continuation.resume(returning: self.takeOfNextBlock(version)) }
        }
    }

    private func takeOfBlock(_ version: UInt32) -> Bool {
        self.blocks.withLock { blocks in
            guard let rest = blocks[version]?.left, rest > 0 else { return false }
            blocks[version]?.left = rest - 1
            return true
        }
    }

    /// Reserves a block, for one caller at a time.
    ///
    /// Callers that were waiting then use the block reserved by the first.
    private func takeOfNextBlock(_ version: UInt32) -> Bool {
        if self.takeOfBlock(version) { return true }
        let size = self.blocks.withLock { min($0[version].map { $0.size * 2 } ?? Self.firstBlockSize, self.blockSize) }
        guard let taken = try? self.reserve(size, of: version), taken > 0 else { return false }
        self.blocks.withLock { $0[version] = Block(size: size, left: taken - 1) }
        return true
    }

    /// Reserves up to `size` values in the file; returns the number reserved, or 0 if none are left.
    private func reserve(_ size: UInt64, of version: UInt32) throws -> UInt64 {
        // If two processes share the file, they must not reserve blocks at the same time.
        let lock = try FileLock(waitingFor: self.path + ".lock")
        defer { withExtendedLifetime(lock) {} }
        var counts = try self.read()
        let used = counts[version, default: 0]
        guard used < self.limit else { return 0 }
        let block = min(size, self.limit - used)
        counts[version] = used + block
        try DurableFile.write(Self.text(of: counts), to: self.path)
        return block
    }

    /// Checks, without writing, that the counts can be read and replaced.
    func check() throws(KeyFileError) {
        do {
            let folder = DurableFile.folder(of: self.path)
            let lock = self.path + ".lock"
            // The lock is opened as a vault does, which rejects links and other odd files.
            _ = try AppendFile.ifPresent(reading: lock)
            _ = try self.read()
            for file in [folder, lock, self.path] where DurableFile.isNamed(file) {
                try DurableFile.requireWritable(file)
            }
        } catch FileError.notAllowed(let path, let code) {
            let error = FileError.notAllowed(path, errno: code)
            throw .count("\(error); it must belong to the owner of the key file (chown)")
        } catch let error as FileError {
            throw .count("\(error)")
        } catch {
            throw .count("\(self.path): invalid form; restore the file from a backup")
        }
    }

    private struct Damaged: Error {}
    private static let heading = "remote-pin vault count 1"

    private static func text(of counts: [UInt32: UInt64]) -> [UInt8] {
        let lines = counts.sorted { $0.key < $1.key }.map { "key \($0.key) sealed \($0.value)" }
        return Array(([self.heading] + lines).joined(separator: "\n").utf8) + [0x0A]
    }

    /// Reads the counts.
    ///
    /// A missing file counts as zero, but a damaged one stops all sealing.
    private func read() throws -> [UInt32: UInt64] {
        guard DurableFile.isNamed(self.path) else { return [:] }
        let text = try DurableFile.readText(self.path, atMost: KeyFile.sizeLimit)
        let lines = text.split(separator: "\n")
        guard lines.first == Self.heading[...] else { throw Damaged() }
        var counts: [UInt32: UInt64] = [:]
        for line in lines.dropFirst() {
            let words = line.split(separator: " ")
            guard words.count == 4, words[0] == "key", words[2] == "sealed", let version = UInt32(words[1]),
                let count = UInt64(words[3]), counts[version] == nil
            else { throw Damaged() }
            counts[version] = count
        }
        return counts
    }
}
