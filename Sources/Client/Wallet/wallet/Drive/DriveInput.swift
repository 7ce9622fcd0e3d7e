internal import Foundation
internal import HostSystem

/// The lines of a driving program, read on a thread of their own: a read that waits must not keep timers waiting.
enum DriveInput {
    /// A line as it was understood, or why it was not.
    typealias Line = Result<DriveRequest, DriveRefusal>

    /// Longer lines are no commands.
    private static let longestLine = 65_536

    /// Every line until the input ends.
    static func lines(from descriptor: Int32) -> AsyncStream<Line> {
        let (lines, continuation) = AsyncStream.makeStream(of: Line.self)
        Thread.detachNewThread {
            while let line = self.next(from: descriptor) { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// Nil at the end of the input.
    private static func next(from descriptor: Int32) -> Line? {
        do throws(InputError) {
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
