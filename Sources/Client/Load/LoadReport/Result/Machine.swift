/// The machine on which a run was made.
package struct Machine: Sendable, Equatable, Codable {
    package var cpuModel: String
    /// Those that the tool could use.
    package var cores: Int
    package var memoryBytes: Int
    package var kernel: String

    package init(cpuModel: String, cores: Int, memoryBytes: Int, kernel: String) {
        self.cpuModel = cpuModel
        self.cores = cores
        self.memoryBytes = memoryBytes
        self.kernel = kernel
    }

    /// Reads it from the texts of `/proc/cpuinfo`, `/proc/meminfo` and `/proc/sys/kernel/osrelease`; what is not in them is said to be
    /// unknown.
    package init(cpuInfo: String, memoryInfo: String, kernelRelease: String) {
        let processors = Self.values(of: "processor", in: cpuInfo).count
        let kilobytes = Self.values(of: "MemTotal", in: memoryInfo).first?.split(separator: " ").first.flatMap {
            Int($0)
        }
        self.cpuModel = Self.values(of: "model name", in: cpuInfo).first ?? "unknown"
        self.cores = max(processors, 1)
        self.memoryBytes = (kilobytes ?? 0) * 1024
        let kernel = kernelRelease.split(whereSeparator: \.isWhitespace).first.map(String.init)
        self.kernel = kernel ?? "unknown"
    }

    private static func values(of name: String, in text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, Self.trimmed(parts[0]) == name else { return nil }
            return Self.trimmed(parts[1])
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop(while: \.isWhitespace)
        let end = start.lastIndex { !$0.isWhitespace }
        return end.map { String(start[...$0]) } ?? ""
    }
}
