/// The machine that pin-load ran on.
package struct Machine: Sendable, Equatable, Codable {
    package var cpuModel: String
    /// The number of processors available to pin-load.
    package var cores: Int
    package var memoryBytes: Int
    package var kernel: String

    package init(cpuModel: String, cores: Int, memoryBytes: Int, kernel: String) {
        self.cpuModel = cpuModel
        self.cores = cores
        self.memoryBytes = memoryBytes
        self.kernel = kernel
    }

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
