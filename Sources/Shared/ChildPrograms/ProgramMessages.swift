package import Subprocess

/// The lines that a started program writes to standard error, within limits.
///
/// Threat: a program that writes without end fills the server's log, and makes the log service drop the server's own
/// lines.
package struct ProgramMessages: Sendable {
    /// The number of lines that are passed on in each interval.
    package static let lines = 20
    /// The number of bytes of a line that are passed on.
    package static let lineLength = 500
    package static let interval: Duration = .seconds(10)
    /// The number of bytes read in each second, beyond which the program has to wait.
    private static let bytesPerSecond = 1 << 20

    private let pass: @Sendable (_ line: String, _ suppressed: Int) -> Void

    /// - Parameter pass: Called with each line, and with the number of lines suppressed before it.
    package init(_ pass: @escaping @Sendable (_ line: String, _ suppressed: Int) -> Void) {
        self.pass = pass
    }

    /// Reads until the program ends or closes the stream, or the task is cancelled.
    package func read(_ stream: SubprocessOutputSequence) async {
        let copier: BytesOutput = .bytes(limit: 0)
        var limit = LineLimit(at: .now)
        var (line, isOpen): ([UInt8], Bool) = ([], false)
        var (count, second) = (0, ContinuousClock.now + .seconds(1))
        do {
            for try await buffer in stream {
                for byte in try copier.output(from: buffer.bytes) {
                    guard byte == 0x0A else {
                        isOpen = true
                        if line.count < Self.lineLength { line.append(byte) }
                        continue
                    }
                    self.pass(&line, &limit)
                    isOpen = false
                }
                count += buffer.count
                if count >= Self.bytesPerSecond {
                    try await Task.sleep(until: second, clock: .continuous)
                    (count, second) = (0, .now + .seconds(1))
                }
            }
        } catch {
            // The program ended while another process still has the stream open, or the task was cancelled.
        }
        if isOpen { self.pass(&line, &limit) }
    }

    private func pass(_ line: inout [UInt8], _ limit: inout LineLimit) {
        if let suppressed = limit.allow(at: .now) { self.pass(String(decoding: line, as: UTF8.self), suppressed) }
        line.removeAll(keepingCapacity: true)
    }

    /// Counts the lines of the current interval.
    private struct LineLimit {
        private var end: ContinuousClock.Instant
        private var passed = 0
        private var suppressed = 0

        init(at now: ContinuousClock.Instant) { self.end = now + ProgramMessages.interval }

        /// Returns the number of suppressed lines if the next one may be passed on.
        mutating func allow(at now: ContinuousClock.Instant) -> Int? {
            if now >= self.end { (self.end, self.passed) = (now + ProgramMessages.interval, 0) }
            guard self.passed < ProgramMessages.lines else {
                self.suppressed += 1
                return nil
            }
            self.passed += 1
            defer { self.suppressed = 0 }
            return self.suppressed
        }
    }
}
