import ArgumentParser
internal import HostSystem
internal import LoadEngine

struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Convert the JSON of a run to another format.",
        discussion: """
            EXAMPLES

              pin-load report run.json
              pin-load report run.json --out run.html
              pin-load report run.json --format csv | head

            FORMATS

              text  the summary that 'run' prints
              json  all measurements, described in docs/load-result.schema.json
              csv   one row per interval
              html  one page with plots, without network access and scripts
            """
    )

    @Argument(help: ArgumentHelp("JSON of 'pin-load run'.", valueName: "file"), completion: .file())
    var path: String

    @Option(
        help: ArgumentHelp(
            "text, json, csv or html. (default: by the file extension of --out, otherwise text)",
            valueName: "format"
        )
    )
    var format: LoadReportFormat?

    @Option(help: ArgumentHelp("Output file. (default: standard output)", valueName: "file"), completion: .file())
    var out: String?

    func run() async throws {
        try await reportingFailure {
            let format = self.format ?? self.out.flatMap { LoadReportFormat(ofFile: $0) } ?? .text
            let text = try ResultFile.read(self.path).text(as: format)
            guard let out else {
                StandardStreams.writeOutput(text)
                return
            }
            try ResultFile.write(text, to: out)
        }
    }
}

extension LoadReportFormat: ExpressibleByArgument {}

extension LoadReportFormat {
    var fileExtension: String { self == .text ? "txt" : self.rawValue }

    /// Infers the format from a file's extension.
    init?(ofFile path: String) {
        guard let format = Self.allCases.first(where: { path.hasSuffix(".\($0.fileExtension)") }) else { return nil }
        self = format
    }
}

enum ResultFile {
    /// The size limit, well above the size of the JSON for a day-long run.
    private static let sizeLimit = 1 << 30

    static func read(_ path: String) throws(PinLoadFailure) -> RunResult {
        let bytes = try mapError(InputFile.read(path, atMost: Self.sizeLimit), to: PinLoadFailure.usage)
        return try mapError(RunResult(json: bytes)) { (error: RunResultError) in
            PinLoadFailure(.usage, "\(path): \(error)")
        }
    }

    /// Replaces the file.
    ///
    /// It is world-readable, because results contain no secrets.
    static func write(_ text: String, to path: String) throws(PinLoadFailure) {
        try mapError(OutputFile.write(Array(text.utf8), to: path)) { (error: FileError) in
            PinLoadFailure(.failed, "\(error)")
        }
    }
}
