internal import HostSystem

/// What Linux says of this process (proc_pid_stat(5)).
struct ProcessFigures {
    /// Seconds.
    var cpu: Double
    /// Bytes.
    var residentMemory: Double
    var virtualMemory: Double
    var threads: Double
    /// Unix time, seconds.
    var start: Double

    /// Of `sysconf(_SC_CLK_TCK)`; Linux has no other value.
    private static let ticksPerSecond = 100.0

    /// As the kernel says it now; nil where it does not.
    static func current() -> ProcessFigures? {
        guard let stat = Self.text(of: "/proc/self/stat"), let status = Self.text(of: "/proc/self/status"),
            let boot = Self.bootTime
        else { return nil }
        return ProcessFigures(stat: stat, status: status, bootTime: boot)
    }

    /// - Parameter bootTime: of the machine, Unix time.
    init?(stat: String, status: String, bootTime: Double) {
        // The name in parentheses may hold anything, parentheses and spaces too: what follows the last one counts.
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(whereSeparator: \.isWhitespace)
        // Field 3, the state, is the first one here.
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

    /// When the machine was started; the same for the whole life of a process.
    private static let bootTime: Double? = {
        let lines = Self.text(of: "/proc/stat")?.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst("btime ".count)) }
    }()

    /// How many files and sockets are open.
    static var openFiles: Double? {
        guard let names = try? DurableFile.names(in: "/proc/self/fd") else { return nil }
        // The folder itself is open while it is read.
        return Double(max(0, names.count - 1))
    }

    private static func text(of path: String) -> String? {
        (try? DurableFile.read(path, atMost: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension MetricRegistry {
    /// Has the figures of this process told at each scrape.
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
