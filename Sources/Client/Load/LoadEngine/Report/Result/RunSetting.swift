/// The configuration of a run: the command, plan, server and machine.
package struct RunSetting: Sendable, Equatable, Codable {
    /// The words of the command line, starting with the program name.
    var command: [String]
    /// The start time in ms since 1970.
    var startMilliseconds: Int64
    var seed: UInt64
    /// The host and port of the server.
    var target: String
    /// The server's version and git commit id, or nil if unknown.
    var serverBuild: String?
    /// The version and git commit id of pin-load.
    var toolBuild: String
    /// The versions of libraries that affect the result.
    var libraries: [String: String]
    /// The plan as names and values, in the order used by reports.
    var plan: [PlanEntry]
    package var machine: Machine

    package init(
        command: [String],
        startMilliseconds: Int64,
        seed: UInt64,
        target: String,
        serverBuild: String? = nil,
        toolBuild: String,
        libraries: [String: String] = [:],
        plan: [PlanEntry],
        machine: Machine
    ) {
        self.command = command
        self.startMilliseconds = startMilliseconds
        self.seed = seed
        self.target = target
        self.serverBuild = serverBuild
        self.toolBuild = toolBuild
        self.libraries = libraries
        self.plan = plan
        self.machine = machine
    }

    /// All settings as names and values, for reports and comparisons.
    var rows: [(name: String, value: String)] {
        let libraries = self.libraries.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        return self.plan.map { (name: $0.name, value: $0.value) } + [
            ("seed", "\(self.seed)"), ("command", self.commandText), ("target", self.target),
            ("server", self.serverBuild ?? "unknown"), ("tool", self.toolBuild),
        ] + libraries + [
            ("processor", self.machine.cpuModel), ("cores", "\(self.machine.cores)"),
            ("memory", NumberText.bytes(Double(self.machine.memoryBytes))), ("kernel", self.machine.kernel),
        ]
    }

    /// The command line, quoted for a shell.
    private var commandText: String {
        self.command.map { word in
            let isPlain = !word.isEmpty && word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:=,@%+".contains($0) }
            return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
        }.joined(separator: " ")
    }
}

package struct PlanEntry: Sendable, Equatable, Codable {
    let name: String
    let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

package struct Machine: Sendable, Equatable, Codable {
    var cpuModel: String
    /// The number of processors available to pin-load.
    package var cores: Int
    var memoryBytes: Int
    var kernel: String
}

extension Machine {
    /// Parses `/proc/cpuinfo`, `/proc/meminfo` and `/proc/sys/kernel/osrelease`.
    ///
    /// Missing values become `unknown`.
    package init(cpuInfo: String, memoryInfo: String, kernelRelease: String) {
        let kilobytes = Self.values(of: "MemTotal", in: memoryInfo).first?.split(separator: " ").first.flatMap {
            Int($0)
        }
        self.cpuModel = Self.values(of: "model name", in: cpuInfo).first ?? "unknown"
        self.cores = max(Self.values(of: "processor", in: cpuInfo).count, 1)
        self.memoryBytes = (kilobytes ?? 0) * 1024
        self.kernel = kernelRelease.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? "unknown"
    }

    /// Returns the values of lines in the form `name : value`, with words separated by single spaces.
    private static func values(of name: String, in text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1).map {
                $0.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            }
            return parts.count == 2 && parts[0] == name ? parts[1] : nil
        }
    }
}
