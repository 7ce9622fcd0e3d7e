internal import WalletCore

/// The storage of an app whose process may die right before a write.
///
/// Every write is atomic, so a crash can only happen between two writes.
final class CrashingDisk: LocalDisk {
    private let disk: any LocalDisk
    private let process: SimulatedProcess

    init(_ disk: any LocalDisk, _ process: SimulatedProcess) {
        self.disk = disk
        self.process = process
    }

    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? { try self.disk.read(file) }

    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        guard self.process.survivesWrite() else { throw Self.processEnded }
        try self.disk.write(bytes, to: file)
    }

    func remove(_ file: LocalFile) throws(LocalDiskError) {
        guard self.process.survivesWrite() else { throw Self.processEnded }
        try self.disk.remove(file)
    }

    private static let processEnded = LocalDiskError("the process has ended")
}
