import ArgumentParser
internal import Foundation
internal import HostSystem
internal import LoadReport

/// `pin-load trend`: shows how the metrics change over many runs.
struct TrendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trend",
        abstract: "Show the metrics of many runs over time.",
        discussion: """
            Reads every JSON of a run in a folder and its subfolders. Runs with the same plan form a series; the \
            newest run is compared with the one before it.

            EXAMPLES

              pin-load run … --out results/2026-12-01.json
              pin-load trend results --out trend.html

            EXIT CODES

               0  no series became worse
               1  usage error, or no result in the folder
              99  --fail, and a newest run failed or is worse than the run before it
            """
    )

    @Argument(help: ArgumentHelp("Folder with results.", valueName: "dir"), completion: .directory)
    var folder: String

    @Option(help: ArgumentHelp("HTML page with plots.", valueName: "file"), completion: .file(extensions: ["html"]))
    var out: String?

    @Flag(help: "Exit with 99 if a newest run failed or is worse than the run before it.")
    var fail = false

    func run() async throws {
        try await reportingFailure {
            let trend = Trend(of: try self.runs())
            StandardStreams.writeOutput(trend.text)
            if let out = self.out { try ResultFile.write(trend.html, to: out) }
            if self.fail, trend.hasRegression { throw PinLoadStatus.broken.exitCode }
        }
    }

    /// Reads the results below the folder.
    ///
    /// Other JSON files are skipped with a message.
    private func runs() throws(PinLoadFailure) -> [Trend.Run] {
        guard let names = FileManager.default.enumerator(atPath: self.folder) else {
            throw PinLoadFailure(.usage, "\(self.folder): not a folder")
        }
        var runs: [Trend.Run] = []
        for name in names.compactMap({ $0 as? String }).filter({ $0.hasSuffix(".json") }).sorted() {
            do throws(PinLoadFailure) {
                runs.append(Trend.Run(name: name, result: try ResultFile.read("\(self.folder)/\(name)")))
            } catch {
                StandardStreams.writeError("pin-load: skipped: \(error.message)\n")
            }
        }
        guard !runs.isEmpty else {
            throw PinLoadFailure(.usage, "\(self.folder): no result; write one with 'pin-load run --out FILE.json'")
        }
        return runs
    }
}
