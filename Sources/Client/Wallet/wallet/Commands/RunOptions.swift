import ArgumentParser
internal import Foundation
internal import HostSystem
internal import Phone
internal import Scenarios

/// Which server scenarios are played against.
struct RunTargetOptions: ParsableArguments {
    @Flag(help: "A lab of its own for each scenario, with a server that this command starts (the default).")
    var lab = false

    @Option(
        help: ArgumentHelp("A server that is there already; what only a lab can do is skipped.", valueName: "host:port")
    )
    var server: String?

    @Option(help: ArgumentHelp("With --server: the name of its certificate; the host by default.", valueName: "name"))
    var serverName: String?

    @Option(
        help: ArgumentHelp("With --server: the authority that signed its certificate, PEM.", valueName: "file"),
        completion: .file()
    )
    var ca: String?

    @Option(
        help: ArgumentHelp("With --server: the authority with which phones attest their keys.", valueName: "dir"),
        completion: .directory
    )
    var authority: String?

    @Option(
        help: ArgumentHelp("The server's program; beside this one by default.", valueName: "path"),
        completion: .file()
    )
    var serverBinary: String?

    /// The target, once it is known to be there.
    func target() async throws(RunFailure) -> ScenarioTarget {
        guard let server else {
            guard self.ca == nil, self.authority == nil, self.serverName == nil else {
                throw .usage("--ca, --authority and --server-name belong to --server")
            }
            return .ownLabs(serverBinary: try self.binary())
        }
        guard !self.lab, self.serverBinary == nil else {
            throw .usage("--server excludes --lab and --server-binary")
        }
        guard let ca, let authority else { throw .usage("--server needs --ca FILE and --authority DIR") }
        guard let colon = server.lastIndex(of: ":"), let port = Int(server[server.index(after: colon)...]),
            (1...65_535).contains(port)
        else { throw .usage("--server must be HOST:PORT") }
        var host = server[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        let existing = ExistingServer(
            host: String(host),
            port: port,
            name: self.serverName ?? String(host),
            caFile: Environment.absolute(ca),
            authority: Environment.absolute(authority)
        )
        guard await existing.isReachable() else {
            throw RunFailure(exitCode: Self.unavailable, message: "no server answers at \(server)")
        }
        return .server(existing)
    }

    private func binary() throws(RunFailure) -> String {
        let path = self.serverBinary.map(Environment.absolute) ?? Self.besideThis
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw RunFailure(
                exitCode: Self.unavailable,
                message: "there is no server program at \(path); build it, or name it with --server-binary"
            )
        }
        return path
    }

    private static var besideThis: String {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("remote-pin-server").path
    }

    /// EX_UNAVAILABLE.
    private static let unavailable: Int32 = 69
}

/// What is written about a run, and where.
struct RunOutputOptions: ParsableArguments {
    @Option(
        name: .customLong("format"),
        help: ArgumentHelp("text, tap (version 14), junit or json; text by default.", valueName: "name")
    )
    var formatName: ReportName?

    @Flag(help: "The same as --format json.")
    var json = false

    /// How the report is written.
    var format: ReportName { self.json ? .json : self.formatName ?? .text }

    @Option(help: ArgumentHelp("Write the report here; a summary still goes to the terminal.", valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("Fail where a step of this list is reached by no scenario.", valueName: "file"))
    var coverage: String?

    @Option(help: ArgumentHelp("Write the table of cases, files and steps here.", valueName: "file"))
    var table: String?

    @Option(help: ArgumentHelp("Fail where this table is not what the run gives.", valueName: "file"))
    var tableCheck: String?

    @Flag(help: "Print the JSON schema of scenario files, for editors.")
    var schema = false

    @Flag(help: "Print the reference of keys.")
    var keys = false

    func validate() throws {
        guard !self.json || (self.formatName ?? .json) == .json else {
            throw ValidationError("--json and another --format contradict each other: leave one out")
        }
    }

    /// Whether the format is asked for instead of a run.
    var writesFormat: Bool { self.schema || self.keys }

    /// Prints what is known of the format; false where that is not what was asked for.
    func writeFormat() throws(RunFailure) -> Bool {
        if self.schema { StandardStreams.writeOutput(ScenarioSchema.text) }
        if self.keys { StandardStreams.writeOutput(ScenarioManual.markdown) }
        return self.writesFormat
    }

    func coverage(of results: [ScenarioResult]) throws(RunFailure) -> Coverage? {
        guard let path = self.coverage else { return nil }
        return Coverage(of: results, in: try Self.text(of: path))
    }

    /// The report, to its file or to the standard output.
    func write(_ report: Report) throws(RunFailure) {
        let text = report.text(as: self.format.format)
        if let path = self.output {
            try Self.write(text, to: path)
            StandardStreams.writeOutput(TextReport(isColored: ScenarioProgress.isColored).end(report))
        } else if self.format == .text {
            // Each result was written when it was there.
            StandardStreams.writeOutput(TextReport(isColored: ScenarioProgress.isColored).end(report))
        } else {
            StandardStreams.writeOutput(text)
        }
    }

    /// Writes or compares the table; false where it is not what it should be.
    func writePage(_ results: [ScenarioResult]) throws(RunFailure) -> Bool {
        let page = ScenarioPage.text(results)
        if let path = self.table { try Self.write(page, to: path) }
        guard let path = self.tableCheck, try Self.text(of: path) != page else { return true }
        StandardStreams.writeError("wallet: \(path) is not what this run gives; write it with --table \(path)\n")
        return false
    }

    private static func text(of path: String) throws(RunFailure) -> String {
        do throws(FileError) {
            return String(decoding: try DurableFile.read(path, atMost: 1 << 22), as: UTF8.self)
        } catch {
            throw .usage("\(error)")
        }
    }

    private static func write(_ text: String, to path: String) throws(RunFailure) {
        do throws(FileError) {
            try DurableFile.write(Array(text.utf8), to: Environment.absolute(path), mode: 0o644)
        } catch {
            throw .failed("\(error)")
        }
    }
}

/// A run cannot begin, or its report not be written: one sentence for the person, and the exit code.
struct RunFailure: Error {
    var exitCode: Int32
    var message: String

    static func usage(_ message: String) -> RunFailure {
        RunFailure(exitCode: WalletExitStatus.usage.rawValue, message: message)
    }

    static func failed(_ message: String) -> RunFailure {
        RunFailure(exitCode: WalletExitStatus.failed.rawValue, message: message)
    }
}

/// A report's form by its name.
enum ReportName: String, ExpressibleByArgument, CaseIterable {
    case text
    case tap
    case junit
    case json

    var format: ReportFormat {
        switch self {
        case .text: .text
        case .tap: .tap
        case .junit: .junit
        case .json: .json
        }
    }
}
