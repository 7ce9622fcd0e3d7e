import ArgumentParser
internal import HostSystem
internal import LoadReport

/// Options for the result files and the format of the summary.
struct ResultOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Output file .json, .html, .csv or .txt, or a folder for all of them. Repeatable.",
            valueName: "path"
        ),
        completion: .file()
    )
    var out: [String] = []

    @Flag(help: "Print JSON instead of the summary.")
    var json = false
}

extension ResultOptions {
    /// An output file and its format.
    struct Destination: Hashable {
        let path: String
        let format: LoadReportFormat
    }

    /// Returns the output files.
    ///
    /// Creates their folders up front, so that a typo cannot cost the result of a run.
    func destinations() throws(PinLoadFailure) -> [Destination] {
        var destinations: [Destination] = []
        for path in self.out {
            if let format = LoadReportFormat(ofFile: path) {
                destinations.append(Destination(path: path, format: format))
                continue
            }
            let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
            guard !name.contains(".") || DurableFile.isFolder(path) else {
                let extensions = LoadReportFormat.allCases.map { ".\($0.fileExtension)" }.joined(separator: ", ")
                throw PinLoadFailure(
                    .usage,
                    "--out \(path): unknown file extension; use \(extensions), or name a folder"
                )
            }
            do throws(FileError) {
                if !DurableFile.isFolder(path) { try DurableFile.makeFolder(path, mode: 0o755) }
            } catch {
                throw PinLoadFailure(.usage, "--out: \(error)")
            }
            let folder = path.hasSuffix("/") ? String(path.dropLast()) : path
            destinations += LoadReportFormat.allCases.map {
                Destination(path: "\(folder)/result.\($0.fileExtension)", format: $0)
            }
        }
        return destinations
    }

    /// Writes the output files, and the summary to standard output.
    func write(_ result: RunResult, to destinations: [Destination]) throws(PinLoadFailure) {
        for destination in destinations {
            try ResultFile.write(result.text(as: destination.format), to: destination.path)
        }
        StandardStreams.writeOutput(result.text(as: self.json ? .json : .text))
    }
}
