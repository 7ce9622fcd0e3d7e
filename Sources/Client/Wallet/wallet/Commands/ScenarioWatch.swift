internal import HostSystem

/// Waits until scenario files are saved.
///
/// Files are compared every quarter of a second: that works on every file system, also in containers.
struct ScenarioWatch {
    private let paths: [String]
    private var stamps: [String: Int64] = [:]

    /// Watches files and folders; the files that exist now are new to the first ``changes()``.
    init(_ paths: [String]) {
        self.paths = paths
    }

    /// Returns the files that were saved or created since the last call, sorted; waits for at least one.
    ///
    /// A file that was deleted is forgotten. Returns no file if the task is cancelled.
    mutating func changes() async -> [String] {
        while !Task.isCancelled {
            let stamps = self.current
            let changed = stamps.filter { self.stamps[$0.key] != $0.value }.keys.sorted()
            self.stamps = stamps
            if !changed.isEmpty { return changed }
            try? await Task.sleep(for: .milliseconds(250))
        }
        return []
    }

    /// The times of the files' last changes.
    private var current: [String: Int64] {
        let files = self.paths.flatMap { (try? ScenarioFiles.files([$0])) ?? [] }
        return files.reduce(into: [:]) { stamps, file in stamps[file] = try? DurableFile.changeTime(of: file) }
    }
}
