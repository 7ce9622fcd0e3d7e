internal import Foundation
internal import HostSystem

/// Reads lines from the controlling program on a separate thread, so that blocking reads do not delay timers.
enum DriveInput {
    /// A decoded line, or the reason it was rejected.
    typealias Line = Result<DriveRequest, DriveRefusal>

    /// The maximum length of a line in bytes.
    private static let longestLine = 65_536

    /// Returns a stream of lines that finishes at the end of the input.
    static func lines(from descriptor: Int32) -> AsyncStream<Line> {
        let (lines, continuation) = AsyncStream.makeStream(of: Line.self)
        Thread.detachNewThread {
            while let line = self.next(from: descriptor) { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// Reads a line.
    ///
    /// Returns nil at the end of the input.
    private static func next(from descriptor: Int32) -> Line? {
        do {
            return try LineInput.withLineBuffer(from: descriptor, atMost: self.longestLine) { line in
                do throws(DriveRefusal) {
                    return .success(try DriveRequest(line))
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            guard error == .tooLong else { return nil }
            return .failure(DriveRefusal(.tooLong, "a line has at most \(self.longestLine) bytes"))
        }
    }
}
