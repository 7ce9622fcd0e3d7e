internal import Synchronization
internal import WalletCore

/// The space that the phone has for the app's files.
final class PhoneStorage: Sendable {
    private let state = Mutex(false)

    /// Whether no space is left.
    var isFull: Bool {
        get { self.state.withLock { $0 } }
        set { self.state.withLock { $0 = newValue } }
    }
}

/// The storage of an app whose process may die right before a write, on a phone whose storage may be full.
///
/// Every write is atomic, so a crash can only happen between two writes.
final class CrashingDisk: LocalDisk {
    private let disk: any LocalDisk
    private let process: SimulatedProcess
    private let storage: PhoneStorage

    init(_ disk: any LocalDisk, _ process: SimulatedProcess, _ storage: PhoneStorage) {
        self.disk = disk
        self.process = process
        self.storage = storage
    }

    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? { try self.disk.read(file) }

    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        guard !self.storage.isFull else { throw Self.noSpace }
        guard self.process.survivesWrite() else { throw Self.processEnded }
        try self.disk.write(bytes, to: file)
    }

    func remove(_ file: LocalFile) throws(LocalDiskError) {
        guard self.process.survivesWrite() else { throw Self.processEnded }
        try self.disk.remove(file)
    }

    private static let noSpace = LocalDiskError("no space left on device")
    private static let processEnded = LocalDiskError("the process has ended")
}
