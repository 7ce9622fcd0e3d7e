import Synchronization
import Vocabulary

@testable import WalletCore

/// The life of a process: every local write and every message is a place at which it may end.
final class CrashPoint: Sendable {
    /// What happens at one place, and on which side of it the process ends.
    enum Cut: Hashable, Sendable {
        /// The process ends before the place's effect.
        case before(Int)
        /// The effect has happened; nothing after it does.
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

    /// Places passed so far.
    var places: Int { self.state.withLock(\.places) }
    var isOff: Bool { self.state.withLock(\.isOff) }
    var log: [String] { self.state.withLock(\.log) }

    /// Counts from here on, and ends at `cut`.
    func arm(_ cut: Cut?) {
        self.state.withLock { $0 = State(cut: cut) }
    }

    /// Passes a place; nil where the process is dead.
    ///
    /// The result says whether it dies right after.
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

/// A disk in memory that dies with the process's crashPoint.
final class TestDisk: LocalDisk {
    private let files: Mutex<[LocalFile: [UInt8]]>
    let crashPoint: CrashPoint

    init(crashPoint: CrashPoint, files: [LocalFile: [UInt8]] = [:]) {
        self.crashPoint = crashPoint
        self.files = Mutex(files)
    }

    /// What a copy of the storage holds.
    var contents: [LocalFile: [UInt8]] { self.files.withLock { $0 } }

    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? {
        self.files.withLock { $0[file] }
    }

    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        guard let passed = self.crashPoint.pass("write \(file.rawValue)") else { throw Self.dead }
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

/// A clock that stands still until it is moved.
final class ManualClock: WallClock {
    private let time = Mutex(Timestamp(milliseconds: 1_700_000_000_000))

    func now() -> Timestamp { self.time.withLock { $0 } }

    func advance(by duration: Duration) {
        self.time.withLock { $0 = $0 + duration }
    }
}
