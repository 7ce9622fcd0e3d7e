import ArgumentParser
internal import HostSystem
internal import LoadReport

/// `pin-load report`: a run again, in another form.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Tell a run again, in another form.",
        discussion: """
            EXAMPLES

              pin-load report run.json                            # as it was told in the terminal
              pin-load report run.json --out run.html
              pin-load report run.json --format csv | head        # one row for each interval
              pin-load report run.json --format hgrm --operation unlock

            FORMATS

              text  as it was told in the terminal
              json  docs/load-result.schema.json
              csv   one row for each interval
              hgrm  percentiles in wrk2's layout, ms
              hlog  HdrHistogram's interval log, µs
              html  one page with plots; no network, no script
            """
    )

    @Argument(help: ArgumentHelp("What `pin-load run` wrote as JSON.", valueName: "file"), completion: .file())
    var path: String

    @Option(
        help: ArgumentHelp(
            "The form: text, json, csv, hgrm, hlog or html. (default: what the ending of --out says, else text)",
            valueName: "form"
        )
    )
    var format: ReportFormatName?

    @Option(help: ArgumentHelp("For hgrm: only check, unlock, change-pin or register.", valueName: "kind"))
    var operation: OperationName?

    @Option(
        help: ArgumentHelp("Where to write it, instead of to the terminal.", valueName: "file"),
        completion: .file()
    )
    var out: String?

    func validate() throws {
        guard self.operation == nil || self.form == .hgrm else {
            throw ValidationError("--operation goes with --format hgrm; every other form has all kinds.")
        }
    }

    private var form: ReportFormat { self.format?.format ?? self.out.flatMap { ReportFormat(ofFile: $0) } ?? .text }

    func run() async throws {
        try await ending {
            let result = try ResultFile.read(self.path)
            let text = result.text(as: self.form, of: self.operation?.operation)
            guard let out else {
                StandardStreams.writeOutput(text)
                return
            }
            try ResultFile.write(text, to: out)
        }
    }
}

/// ``ReportFormat`` by its name.
enum ReportFormatName: String, ExpressibleByArgument, CaseIterable {
    case text, json, csv, hgrm, hlog, html

    var format: ReportFormat {
        switch self {
        case .text: .text
        case .json: .json
        case .csv: .csv
        case .hgrm: .hgrm
        case .hlog: .hlog
        case .html: .html
        }
    }
}

/// ``Operation`` by its name.
enum OperationName: String, ExpressibleByArgument, CaseIterable {
    case check, unlock, register
    case changePIN = "change-pin"

    var operation: LoadReport.Operation {
        switch self {
        case .check: .check
        case .unlock: .unlock
        case .changePIN: .changePIN
        case .register: .register
        }
    }
}

/// A run's JSON as a file.
enum ResultFile {
    /// More than a run of a day has.
    private static let sizeLimit = 1 << 30

    /// - Throws: ``CommandFailure`` that names the file.
    static func read(_ path: String) throws -> RunResult {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try DurableFile.read(path, atMost: Self.sizeLimit)
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        do throws(RunResultError) {
            return try RunResult(json: bytes)
        } catch {
            throw CommandFailure(.usage, "\(path) cannot be used: \(error)")
        }
    }

    /// Replaces the file's contents whole, readable by all: a result holds nothing secret.
    static func write(_ text: String, to path: String) throws {
        do throws(FileError) {
            try DurableFile.write(Array(text.utf8), to: path, mode: 0o644)
        } catch {
            throw CommandFailure(.failed, "\(error)")
        }
    }
}
