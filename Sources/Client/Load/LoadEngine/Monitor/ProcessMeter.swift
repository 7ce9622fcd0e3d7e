internal import HostSystem

/// CPU time and memory of a process, this one or another, from proc(5).
///
/// CPU time is summed over threads, to the nanosecond; that of a thread which has ended since is kept as it was last
/// seen.
package struct ProcessMeter: Sendable {
    /// What a process has used so far.
    package struct Reading: Hashable, Sendable {
        /// User and system time of all threads.
        package var cpu: Duration
        package var residentBytes: Int
        /// The most that was resident at any time.
        package var peakResidentBytes: Int
    }

    private let folder: String
    private var threads: [String: Int64] = [:]

    /// - Parameter pid: nil for this process.
    package init(pid: Int32?) {
        self.folder = pid.map { "/proc/\($0)" } ?? "/proc/self"
    }

    /// What it has used so far; nil once it has ended.
    package mutating func read() -> Reading? {
        guard let tasks = try? DurableFile.names(in: "\(self.folder)/task"), !tasks.isEmpty,
            let status = Self.text("\(self.folder)/status")
        else { return nil }
        for task in tasks {
            // A thread may end between the two looks.
            guard let text = Self.text("\(self.folder)/task/\(task)/schedstat"),
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

    /// A line of `/proc/PID/status`, as `VmRSS:    1234 kB`.
    static func bytes(_ name: String, in status: String) -> Int {
        for line in status.split(separator: "\n") where line.hasPrefix("\(name):") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            return words.count > 1 ? (Int(words[1]) ?? 0) * 1024 : 0
        }
        return 0
    }

    private static func text(_ path: String) -> String? {
        (try? DurableFile.read(path, atMost: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
    }
}
