@testable import WalletCore

/// The storage of an app, in memory: each write is atomic, and may fail or be cut off by the end of the process.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class PhoneDisk: LocalDisk, @unchecked Sendable {
    private var files: [LocalFile: [UInt8]] = [:]
    /// The next writes that fail.
    var failures = 0
    private var generator: SeededGenerator
    /// Called with each write that reaches the disk or fails.
    var onWrite: (String) -> Void = { _ in }

    init(_ generator: SeededGenerator) {
        self.generator = generator
    }

    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? { self.files[file] }

    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        try self.change(file, bytes)
    }

    func remove(_ file: LocalFile) throws(LocalDiskError) {
        guard self.files[file] != nil else { return }
        try self.change(file, nil)
    }

    /// Removes all files.
    func erase() { self.files = [:] }

    private func change(_ file: LocalFile, _ bytes: [UInt8]?) throws(LocalDiskError) {
        guard self.failures > 0 else {
            self.files[file] = bytes
            return self.onWrite("writes \(file.rawValue)")
        }
        self.failures -= 1
        // The new file may have its name, although the sync of the folder failed.
        let isWritten = self.generator.chance(50)
        if isWritten { self.files[file] = bytes }
        self.onWrite("fails to write \(file.rawValue)\(isWritten ? ", which is written" : "")")
        throw LocalDiskError("the disk fails")
    }
}
