internal import Foundation
internal import HostSystem

/// The input lines of a driving program, read on a separate thread so that a blocking read does not
/// delay timers.
enum DriveInput {
    /// A decoded line, or the reason for its rejection.
    typealias Line = Result<DriveRequest, DriveRefusal>

    /// The maximum length of a line in bytes.
    private static let longestLine = 65_536

    /// Returns the lines until the end of the input.
    static func lines(from descriptor: Int32) -> AsyncStream<Line> {
        let (lines, continuation) = AsyncStream.makeStream(of: Line.self)
        Thread.detachNewThread {
            while let line = self.next(from: descriptor) { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// Reads a line; returns nil at the end of the input.
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
