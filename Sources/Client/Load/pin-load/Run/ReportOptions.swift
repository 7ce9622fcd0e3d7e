import ArgumentParser
internal import HostSystem
internal import LoadReport

/// What is to hold, and where the result goes.
struct ReportOptions: ParsableArguments {
    @Option(
        name: .customLong("threshold"),
        help: ArgumentHelp(
            "What must hold at the end, or the exit code is 99; may be repeated: p99<20ms, errors<0.1%, unexpected==0, "
                + "rate>5000, unlock.p99.9<50ms, service.p99<5ms, unsent==0, violations==0.",
            valueName: "condition"
        )
    )
    var thresholds: [String] = []

    @Flag(help: "End the run once a threshold cannot hold any more, or has not for five seconds.")
    var abortOnFail = false

    @Option(
        help: ArgumentHelp(
            "Where the result goes, by its ending: .json, .html, .csv, .hgrm, .hlog or .txt; a folder gets all of them. May "
                + "be repeated.",
            valueName: "path"
        ),
        completion: .file()
    )
    var out: [String] = []

    @Flag(help: "The result as JSON on standard output, instead of the summary.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "The server's process, for its CPU time and memory; on this machine it is found by its port.",
            valueName: "pid"
        )
    )
    var serverPID: Int32?

    @Flag(help: "A line each second also on a terminal.")
    var lines = false
}

extension ReportOptions {
    func readThresholds() throws(CommandFailure) -> [Threshold] {
        var (thresholds, problems): ([Threshold], [String]) = ([], [])
        for text in self.thresholds {
            do throws(ThresholdError) {
                thresholds.append(try Threshold(parsing: text))
            } catch {
                problems.append("--threshold \(text): \(error)")
            }
        }
        guard problems.isEmpty else { throw CommandFailure(.usage, problems.joined(separator: "\npin-load: ")) }
        return thresholds
    }

    /// A file and the form that it gets.
    struct Destination: Hashable {
        let path: String
        let format: ReportFormat
    }

    /// The files that are to be written; folders are made now, so that a run does not fail at its end.
    func destinations() throws(CommandFailure) -> [Destination] {
        var destinations: [Destination] = []
        for path in self.out {
            if let format = ReportFormat(ofFile: path) {
                destinations.append(Destination(path: path, format: format))
                continue
            }
            let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
            guard !name.contains(".") || DurableFile.isFolder(path) else {
                let endings = ReportFormat.allCases.map { ".\($0.ending)" }.joined(separator: ", ")
                throw CommandFailure(.usage, "--out \(path): the ending says the form: \(endings); or name a folder")
            }
            do throws(FileError) {
                if !DurableFile.isFolder(path) { try DurableFile.makeFolder(path, mode: 0o755) }
            } catch {
                throw CommandFailure(.usage, "--out: \(error)")
            }
            let folder = path.hasSuffix("/") ? String(path.dropLast()) : path
            destinations += ReportFormat.allCases.map {
                Destination(path: "\(folder)/result.\($0.ending)", format: $0)
            }
        }
        return destinations
    }

    /// Writes all of them, and the summary to standard output.
    func write(_ result: RunResult, to destinations: [Destination]) throws(CommandFailure) {
        for destination in destinations {
            do throws(FileError) {
                let text = result.text(as: destination.format)
                try DurableFile.write(Array(text.utf8), to: destination.path, mode: 0o644)
            } catch {
                throw CommandFailure(.failed, "--out: \(error)")
            }
        }
        StandardStreams.writeOutput(result.text(as: self.json ? .json : .text))
    }
}

extension ReportFormat {
    /// Of files in this form, without the point.
    var ending: String { self == .text ? "txt" : self.rawValue }

    /// The form that a file's name asks for; nil where it asks for none.
    init?(ofFile path: String) {
        guard let format = Self.allCases.first(where: { path.hasSuffix(".\($0.ending)") }) else { return nil }
        self = format
    }
}
