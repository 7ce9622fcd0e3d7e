internal import Synchronization
internal import HostSystem
package import Vocabulary

/// A lab's time: the system's clock and an offset that only grows and outlives the server.
///
/// The server's side of it: the offset is kept here and written to its file before anything sees the new time, so that
/// no restart ever goes back.
package final class LabClock: WallClock {
    private let file: String
    private let system: any WallClock
    private let offset: Mutex<Int64>

    /// The furthest that a clock may be moved, in all: a hundred years.
    package static let furthest: Duration = .seconds(100 * 366 * 86_400)

    /// Takes up the offset where it was left; 0 where the file does not exist yet.
    package init(file: String, system: any WallClock = SystemClock()) throws(LabError) {
        self.file = file
        self.system = system
        self.offset = Mutex(try LabClockFile.read(file))
    }

    package func now() -> Timestamp {
        self.system.now().adding(milliseconds: self.offset.withLock { $0 })
    }

    /// Moves the clock forward for good and says the new time.
    ///
    /// - Precondition: `duration` is positive.
    package func advance(by duration: Duration) throws(LabError) -> Timestamp {
        precondition(duration > .zero, "a lab's clock only goes forward")
        try self.offset.withLock { offset throws(LabError) in
            let next = min(offset + min(duration, Self.furthest).milliseconds, Self.furthest.milliseconds)
            try LabClockFile.write(next, to: self.file)
            offset = next
        }
        return self.now()
    }
}

/// A wallet's view of its lab's time, which the server moves: the file is read whenever someone asks.
package final class FollowedLabClock: WallClock {
    private let file: String
    private let system: any WallClock
    private let latest: Mutex<Int64>

    package init(file: String, system: any WallClock = SystemClock()) throws(LabError) {
        self.file = file
        self.system = system
        self.latest = Mutex(try LabClockFile.read(file))
    }

    /// The present time; as it was known last where the file cannot be read, and never an earlier one.
    package func now() -> Timestamp {
        let read = (try? LabClockFile.read(self.file)) ?? 0
        let offset = self.latest.withLock { latest in
            latest = max(latest, read)
            return latest
        }
        return self.system.now() + .milliseconds(offset)
    }
}

/// The form of the clock's file: a number of milliseconds in digits, and a line's end.
enum LabClockFile {
    static func read(_ path: String) throws(LabError) -> Int64 {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try DurableFile.read(path, atMost: 32)
        } catch .notFound(_) {
            return 0
        } catch {
            throw .file(error)
        }
        let text = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" }
        guard let offset = Int64(text), (0...LabClock.furthest.milliseconds).contains(offset) else {
            throw .notAsWritten(path: path, what: "a number of milliseconds, 0 or more, is expected")
        }
        return offset
    }

    static func write(_ offset: Int64, to path: String) throws(LabError) {
        do throws(FileError) {
            try DurableFile.write(Array("\(offset)\n".utf8), to: path)
        } catch {
            throw .file(error)
        }
    }
}
