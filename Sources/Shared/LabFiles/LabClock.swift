internal import Synchronization
internal import HostSystem
package import Vocabulary

/// A lab's clock, which is ahead of the system clock by an offset that only ever increases and survives restarts.
///
/// This is the server's side. The server writes the offset to a file before the new time becomes visible, so that the
/// clock never goes back after a restart.
package final class LabClock: WallClock {
    private let file: String
    private let system: any WallClock
    private let offset: Mutex<Int64>

    /// The maximum offset: a hundred years.
    package static let furthest: Duration = .seconds(100 * 366 * 86_400)

    /// Reads the offset from its file.
    ///
    /// If the file does not exist yet, the offset is 0.
    package init(file: String, system: any WallClock = SystemClock()) throws(LabError) {
        self.file = file
        self.system = system
        self.offset = Mutex(try LabClockFile.read(file))
    }

    package func now() -> Timestamp {
        self.system.now().adding(milliseconds: self.offset.withLock { $0 })
    }

    /// Permanently moves the clock forward and returns the new time.
    ///
    /// - Precondition: `duration` is positive.
    package func advance(by duration: Duration) throws(LabError) -> Timestamp {
        precondition(duration > .zero, "a lab's clock only moves forward")
        try self.offset.withLock { offset throws(LabError) in
            let next = min(offset + min(duration, Self.furthest).milliseconds, Self.furthest.milliseconds)
            try LabClockFile.write(next, to: self.file)
            offset = next
        }
        return self.now()
    }
}

/// A wallet's view of the lab's clock.
///
/// It reads the file on every call, because the server may change it at any time.
package final class FollowedLabClock: WallClock {
    private let file: String
    private let system: any WallClock
    private let latest: Mutex<Int64>

    package init(file: String, system: any WallClock = SystemClock()) throws(LabError) {
        self.file = file
        self.system = system
        self.latest = Mutex(try LabClockFile.read(file))
    }

    /// Returns the current time, which never goes back.
    ///
    /// If the file cannot be read, the last known offset is used.
    package func now() -> Timestamp {
        let read = (try? LabClockFile.read(self.file)) ?? 0
        let offset = self.latest.withLock { latest in
            latest = max(latest, read)
            return latest
        }
        return self.system.now() + .milliseconds(offset)
    }
}

/// The format of the clock file: a decimal number of milliseconds followed by a line feed.
enum LabClockFile {
    static func read(_ path: String) throws(LabError) -> Int64 {
        guard let bytes = try mapError(ifPresent(DurableFile.read(path, atMost: 32)), to: LabError.file) else {
            return 0
        }
        let text = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" }
        guard let offset = Int64(text), (0...LabClock.furthest.milliseconds).contains(offset) else {
            throw .notAsWritten(path: path, what: "a number of milliseconds, 0 or more, is expected")
        }
        return offset
    }

    static func write(_ offset: Int64, to path: String) throws(LabError) {
        try mapError(DurableFile.write(Array("\(offset)\n".utf8), to: path), to: LabError.file)
    }
}
