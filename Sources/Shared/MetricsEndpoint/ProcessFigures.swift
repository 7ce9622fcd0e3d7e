internal import HostSystem
internal import Vocabulary

/// Statistics about this process, as reported by Linux (proc_pid_stat(5)).
struct ProcessFigures {
    var cpu: Double
    var residentMemory: Double
    var virtualMemory: Double
    var threads: Double
    var start: Double

    /// The value of `sysconf(_SC_CLK_TCK)`, which is constant on Linux.
    private static let ticksPerSecond = 100.0

    /// Reads the current statistics, or returns nil if the kernel does not provide them.
    static func current() -> ProcessFigures? {
        guard let stat = Self.text(of: "/proc/self/stat"), let status = Self.text(of: "/proc/self/status") else {
            return nil
        }
        return ProcessFigures(stat: stat, status: status, bootTime: Self.bootTime)
    }

    /// - Parameter bootTime: The machine's boot time in seconds since 1970.
    init?(stat: String, status: String, bootTime: Double) {
        // The name in parentheses may itself contain parentheses and spaces, so start parsing after the last
        // parenthesis.
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(whereSeparator: \.isWhitespace)
        // The first element here is field 3, the state.
        func field(_ number: Int) -> Double? {
            fields.indices.contains(number - 3) ? Double(fields[number - 3]) : nil
        }
        guard let user = field(14), let system = field(15), let threads = field(20), let start = field(22),
            let virtual = field(23), let resident = Self.kilobytes("VmRSS:", in: status)
        else { return nil }
        self.cpu = (user + system) / Self.ticksPerSecond
        self.threads = threads
        self.start = bootTime + start / Self.ticksPerSecond
        self.virtualMemory = virtual
        self.residentMemory = resident * 1024
    }

    private static func kilobytes(_ name: String, in status: String) -> Double? {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        return line.dropFirst(name.count).split(whereSeparator: \.isWhitespace).first.flatMap { Double($0) }
    }

    /// The machine's boot time.
    ///
    /// It is read only once per process, so that the start time does not change with the wall clock.
    private static let bootTime = Double(SystemClock.bootTime.milliseconds) / 1000

    static var openFiles: Double? {
        guard let names = try? DurableFile.names(in: "/proc/self/fd") else { return nil }
        // Do not count the descriptor of the directory that is being read.
        return Double(max(0, names.count - 1))
    }

    private static func text(of path: String) -> String? {
        try? DurableFile.readText(path, atMost: 1 << 20)
    }
}

extension MetricRegistry {
    /// Registers the process statistics as probes.
    package func watchProcess() {
        func watch(_ name: String, _ figure: @escaping @Sendable (ProcessFigures) -> Double) {
            self.probe(name) { ProcessFigures.current().map(figure) }
        }
        watch("process_cpu_seconds_total", \.cpu)
        watch("process_resident_memory_bytes", \.residentMemory)
        watch("process_virtual_memory_bytes", \.virtualMemory)
        watch("process_threads", \.threads)
        watch("process_start_time_seconds", \.start)
        self.probe("process_open_fds") { ProcessFigures.openFiles }
        self.probe("process_max_fds") { Double(OpenFiles.limit.current) }
    }
}

extension MetricDefinition {
    /// The standard process metrics exported by Prometheus client libraries.
    package static let process = [
        MetricDefinition("process_cpu_seconds_total", .counter, "User and system CPU time of the process."),
        MetricDefinition("process_resident_memory_bytes", .gauge, "Resident memory of the process."),
        MetricDefinition("process_virtual_memory_bytes", .gauge, "Virtual memory of the process."),
        MetricDefinition("process_open_fds", .gauge, "Open file descriptors."),
        MetricDefinition("process_max_fds", .gauge, "Limit on open file descriptors."),
        MetricDefinition("process_threads", .gauge, "Threads of the process."),
        MetricDefinition("process_start_time_seconds", .gauge, "Start time of the process, as Unix time."),
    ]
}
