internal import Foundation
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
    }

    private let folder: String
    private var threads: [String: Int64] = [:]

    /// - Parameter pid: The process to read, or nil for this process.
    package init(pid: Int32?) { self.folder = pid.map { "/proc/\($0)" } ?? "/proc/self" }

    /// Reads the usage so far; returns nil once the process has exited.
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
            residentBytes: Self.bytes("VmRSS", in: status)
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

/// Finds the process listening on a port of this machine.
package enum ListeningProcess {
    /// Returns the process id, or nil if no process listens on the port or the process belongs to another user.
    package static func pid(onPort port: Int) -> Int32? {
        let inodes = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { path -> [String] in
            guard let table = try? DurableFile.readText(path, atMost: 64 << 20) else { return [] }
            return Self.inodes(listeningOn: port, in: table)
        }
        guard !inodes.isEmpty, let processes = try? DurableFile.names(in: "/proc") else { return nil }
        let sockets = Set(inodes.map { "socket:[\($0)]" })
        return processes.lazy.compactMap { Int32($0) }.first { Self.has(sockets, open: $0) }
    }

    /// Returns the inodes of the sockets in state LISTEN, from a table in the format of proc(5).
    static func inodes(listeningOn port: Int, in table: String) -> [String] {
        let suffix =
            ":" + String(repeating: "0", count: max(0, 4 - String(port, radix: 16).count))
            + String(port, radix: 16, uppercase: true)
        return table.split(separator: "\n").dropFirst().compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 9, words[1].hasSuffix(suffix), words[3] == "0A" else { return nil }
            return String(words[9])
        }
    }

    private static func has(_ sockets: Set<String>, open pid: Int32) -> Bool {
        let folder = "/proc/\(pid)/fd"
        guard let files = try? DurableFile.names(in: folder) else { return false }
        return files.contains { file in
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(file)")
            return link.map(sockets.contains) ?? false
        }
    }
}

/// Determines the version of a running server.
package enum ServerBuild {
    /// Returns the first line of its `--version` output, or nil if the process is not this project's server or belongs
    /// to another user.
    package static func of(pid: Int32) -> String? {
        let link = "/proc/\(pid)/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
            path.split(separator: "/").last?.hasPrefix("remote-pin-server") == true
        else { return nil }
        let process = Process()
        // The link refers to the running program even if its file has been replaced since.
        process.executableURL = URL(fileURLWithPath: link)
        process.arguments = ["--version"]
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").first.map(String.init)
    }
}
