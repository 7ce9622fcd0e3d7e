internal import HostSystem

/// Reads the CPU time and memory of this or another process from proc(5).
///
/// The CPU time is the sum over all threads, in nanoseconds. A thread that has ended keeps its last known value.
package struct ProcessMeter: Sendable {
    /// The resource usage so far.
    package struct Reading: Hashable, Sendable {
        /// User and system time of all threads.
        package var cpu: Duration
        package var residentBytes: Int
        /// The peak resident memory.
        package var peakResidentBytes: Int
    }

    private let folder: String
    private var threads: [String: Int64] = [:]

    /// - Parameter pid: The process to read, or nil for this process.
    package init(pid: Int32?) {
        self.folder = pid.map { "/proc/\($0)" } ?? "/proc/self"
    }

    /// Reads the usage so far.
    ///
    /// Returns nil once the process has exited.
    package mutating func read() -> Reading? {
        guard let tasks = try? DurableFile.names(in: "\(self.folder)/task"), !tasks.isEmpty,
            let status = try? DurableFile.readText("\(self.folder)/status", atMost: 1 << 16)
        else { return nil }
        for task in tasks {
            // The thread may have exited between the two reads.
            guard let text = try? DurableFile.readText("\(self.folder)/task/\(task)/schedstat", atMost: 1 << 10),
                let nanoseconds = text.split(separator: " ").first.flatMap({ Int64($0) })
            else { continue }
            self.threads[task] = nanoseconds
        }
        return Reading(
            cpu: .nanoseconds(self.threads.values.reduce(0, +)),
            residentBytes: Self.bytes("VmRSS", in: status),
            peakResidentBytes: Self.bytes("VmHWM", in: status)
        )
    }

    /// Parses a line of `/proc/PID/status`, such as `VmRSS:    1234 kB`.
    static func bytes(_ name: String, in status: String) -> Int {
        for line in status.split(separator: "\n") where line.hasPrefix("\(name):") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            return words.count > 1 ? (Int(words[1]) ?? 0) * 1024 : 0
        }
        return 0
    }
}
