import ArgumentParser
internal import ConfigText
internal import HostSystem
internal import LoadEngine

/// Options for the thresholds of a run and its result files.
struct ReportOptions: ParsableArguments {
    @Option(
        name: .customLong("threshold"),
        help: ArgumentHelp(
            "Condition on the result; if not met, the exit code is 99. Repeatable: p99<20ms, errors<0.1%, "
                + "unexpected==0, rate>5000, unlock.p99.9<50ms, service.p99<5ms, unsent==0.",
            valueName: "condition"
        )
    )
    var thresholds: [String] = []

    @Flag(help: "End the run as soon as a threshold can no longer be met, or is not met for five seconds.")
    var abortOnFail = false

    @Option(
        help: ArgumentHelp(
            "Server process, to measure CPU and memory. (default: on this machine the one listening on the port)",
            valueName: "pid"
        )
    )
    var serverPID: Int32?

    @Option(
        help: ArgumentHelp(
            "Serve the figures of the run to Prometheus at http://HOST:PORT/metrics while it goes on; "
                + "port 0 lets the system choose one.",
            valueName: "address"
        )
    )
    var metrics: String?

    @OptionGroup var output: ResultOptions

    @Flag(help: "Print one line per second, also on a terminal.")
    var lines = false
}

extension ReportOptions {
    /// Returns the address given by `--metrics`.
    func metricsAddress() throws(PinLoadFailure) -> HostAndPort? {
        guard let text = self.metrics else { return nil }
        guard let address = HostAndPort(text) else {
            throw PinLoadFailure(.usage, "--metrics: `\(text)` is not HOST:PORT, such as 127.0.0.1:9466")
        }
        return address
    }

    func readThresholds() throws(PinLoadFailure) -> [Threshold] {
        var (thresholds, problems): ([Threshold], [String]) = ([], [])
        for text in self.thresholds {
            do throws(ThresholdError) {
                thresholds.append(try Threshold(parsing: text))
            } catch {
                problems.append("--threshold \(text): \(error)")
            }
        }
        guard problems.isEmpty else { throw PinLoadFailure(.usage, problems.joined(separator: "\npin-load: ")) }
        return thresholds
    }
}

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
            if !DurableFile.isFolder(path) {
                try mapError(DurableFile.makeFolder(path, mode: 0o755)) { (error: FileError) in
                    PinLoadFailure(.usage, "--out: \(error)")
                }
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
