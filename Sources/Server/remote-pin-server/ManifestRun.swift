internal import AttestationVerifier
internal import HostSystem
internal import ServerCommandLine

/// Verifies every case in a manifest and reports the results.
struct ManifestRun {
    private static let longestManifest = 256 << 20
    private static let longestFile = 16 << 20

    private let manifest: AttestationManifest
    private let folder: String

    init(path: String) throws {
        let path = ConfigurationOptions.absolute(path)
        let json = try explaining(.files) { try DurableFile.read(path, atMost: Self.longestManifest) }
        self.manifest = try explaining(.data, path) { try AttestationManifest(json: json) }
        self.folder = ConfigurationOptions.folder(of: path)
    }

    /// Prints a line for each case, followed by a summary.
    ///
    /// Returns whether the outcome of every case is the expected one.
    func run() throws -> Bool {
        let ids = self.manifest.ids
        let showsProgress = Terminal.isTerminal(2) && !Terminal.isTerminal(1)
        var agreeing = 0
        for index in ids.indices {
            let verdict = self.manifest.judge(index, reading: self.read)
            agreeing += verdict.agrees ? 1 : 0
            StandardStreams.writeOutput(Self.lines(of: verdict))
            if showsProgress { StandardStreams.writeError("\r\(index + 1) of \(ids.count)") }
        }
        if showsProgress { StandardStreams.writeError("\r\u{1B}[K") }
        let difference = ids.count - agreeing
        StandardStreams.writeOutput(
            "\(agreeing) of \(ids.count) cases agree" + (difference == 0 ? "\n" : ", \(difference) do not\n")
        )
        return difference == 0 && !ids.isEmpty
    }

    private static func lines(of verdict: ManifestVerdict) -> String {
        func word(_ outcome: String) -> String { outcome == "accept" ? "accepted" : outcome }
        let head = "\(verdict.agrees ? "ok   " : "WRONG") \(verdict.id): \(word(verdict.outcome))"
        let expected = verdict.expected.isEmpty ? "" : " (expected \(word(verdict.expected)))"
        return head + expected + "\n" + verdict.differences.map { "        \($0)\n" }.joined()
    }

    /// Reads a file named in the manifest.
    ///
    /// Only files below the manifest's folder are read.
    private func read(_ path: String) -> [UInt8]? {
        guard !path.hasPrefix("/"), !path.split(separator: "/").contains("..") else { return nil }
        return try? DurableFile.read("\(self.folder)/\(path)", atMost: Self.longestFile)
    }
}
