internal import HostSystem
internal import Scenarios

/// Waits until scenario files are saved.
///
/// Files are checked every quarter of a second, which works on every file system and in containers.
struct ScenarioWatch {
    private let paths: [String]
    private var stamps: [String: Int64] = [:]

    /// Watches files and folders.
    ///
    /// The first call to ``changes()`` returns all files that exist at that point.
    init(_ paths: [String]) {
        self.paths = paths
    }

    /// Waits until at least one file has been saved or created since the last call, and returns those files, sorted.
    ///
    /// Deleted files are forgotten. Returns an empty list if the task is cancelled.
    mutating func changes() async -> [String] {
        while !Task.isCancelled {
            let stamps = self.current
            let changed = stamps.filter { self.stamps[$0.key] != $0.value }.keys.sorted()
                .filter { self.paths.contains($0) || Scenario.isScenario(contentsOf: $0) }
            self.stamps = stamps
            if !changed.isEmpty { return changed }
            try? await Task.sleep(for: .milliseconds(250))
        }
        return []
    }

    /// The modification times of the files.
    private var current: [String: Int64] {
        let files = self.paths.flatMap { DurableFile.isFolder($0) ? ScenarioFiles.candidates(in: $0) : [$0] }
        return files.reduce(into: [:]) { stamps, file in stamps[file] = try? DurableFile.changeTime(of: file) }
    }
}
