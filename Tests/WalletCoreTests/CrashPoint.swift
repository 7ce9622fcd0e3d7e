import Synchronization

@testable import WalletCore

/// A simulated crash of the process at a local write or a message, each of which is a numbered
/// place.
final class CrashPoint: Sendable {
    /// The place of the crash, and whether its effect still occurs.
    enum Cut: Hashable, Sendable {
        /// The process ends before the effect of the place.
        case before(Int)
        /// The process ends directly after the effect of the place.
        case after(Int)
    }

    private struct State {
        var places = 0
        var cut: Cut?
        var isOff = false
        var log: [String] = []
    }

    private let state = Mutex(State())

    init(cut: Cut? = nil) {
        self.state.withLock { $0.cut = cut }
    }

    /// The number of passed places.
    var places: Int { self.state.withLock(\.places) }
    var isOff: Bool { self.state.withLock(\.isOff) }
    var log: [String] { self.state.withLock(\.log) }

    /// Starts counting at zero and crashes at `cut`.
    func arm(_ cut: Cut?) {
        self.state.withLock { $0 = State(cut: cut) }
    }

    /// Passes a place.
    ///
    /// Returns nil if the process has ended; `isLast` is true if it ends directly after the effect.
    func pass(_ name: String) -> (isLast: Bool, Void)? {
        self.state.withLock { state in
            guard !state.isOff else { return nil }
            let place = state.places
            state.places += 1
            state.log.append(name)
            switch state.cut {
            case .some(.before(place)):
                state.isOff = true
                return nil
            case .some(.after(place)):
                state.isOff = true
                return (true, ())
            case .some, .none:
                return (false, ())
            }
        }
    }
}

/// A disk in memory that fails once the process has crashed.
final class TestDisk: LocalDisk {
    private let files: Mutex<[LocalFile: [UInt8]]>
    /// The file whose writes fail, although the process goes on.
    let failing = Mutex<LocalFile?>(nil)
    let crashPoint: CrashPoint

    init(crashPoint: CrashPoint, files: [LocalFile: [UInt8]] = [:]) {
        self.crashPoint = crashPoint
        self.files = Mutex(files)
    }

    /// The contents of a copy of the storage.
    var contents: [LocalFile: [UInt8]] { self.files.withLock { $0 } }

    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? {
        self.files.withLock { $0[file] }
    }

    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        guard let passed = self.crashPoint.pass("write \(file.rawValue)") else { throw Self.dead }
        guard self.failing.withLock({ $0 }) != file else { throw LocalDiskError("the disk is full") }
        self.files.withLock { $0[file] = bytes }
        if passed.isLast { throw Self.dead }
    }

    func remove(_ file: LocalFile) throws(LocalDiskError) {
        guard self.files.withLock({ $0[file] != nil }) else { return }
        guard let passed = self.crashPoint.pass("remove \(file.rawValue)") else { throw Self.dead }
        self.files.withLock { $0[file] = nil }
        if passed.isLast { throw Self.dead }
    }

    private static let dead = LocalDiskError("the process has ended")
}
