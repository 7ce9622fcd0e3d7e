import ArgumentParser
internal import ConfigText
internal import Foundation
internal import HostSystem
internal import SimulatedPhone
internal import Scenarios
internal import WalletCore

/// The options that choose the server to run scenarios against.
struct RunTargetOptions: ParsableArguments {
    @Flag(help: "Start a separate lab with a server for each scenario (default).")
    var lab = false

    @Option(help: ArgumentHelp("Use a running server; scenarios that need a lab are skipped.", valueName: "host:port"))
    var server: String?

    @Option(help: ArgumentHelp("With --server: the name in its certificate; default: the host.", valueName: "name"))
    var serverName: String?

    @Option(
        help: ArgumentHelp("With --server: the authority that signed its certificate, PEM.", valueName: "file"),
        completion: .file()
    )
    var ca: String?

    @Option(
        help: ArgumentHelp("With --server: the authority that attests the phones' keys.", valueName: "dir"),
        completion: .directory
    )
    var authority: String?

    @Option(
        help: ArgumentHelp(
            "The server program; default: remote-pin-server in the folder of this program.",
            valueName: "path"
        ),
        completion: .file()
    )
    var serverBinary: String?

    func validate() throws { try PathArgument.check([self.ca, self.authority, self.serverBinary]) }

    /// Returns the target; throws if it is not available.
    func target() async throws -> ScenarioTarget {
        guard let server else {
            guard self.ca == nil, self.authority == nil, self.serverName == nil else {
                throw RunFailure.usage("--ca, --authority and --server-name need --server")
            }
            return .ownLabs(serverBinary: try self.binary())
        }
        guard !self.lab, self.serverBinary == nil else {
            throw RunFailure.usage("--server cannot be combined with --lab or --server-binary")
        }
        guard let ca, let authority else { throw RunFailure.usage("--server needs --ca FILE and --authority DIR") }
        guard let address = HostAndPort(server, ports: 1...65_535) else {
            throw RunFailure.usage("--server must be HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400, not `\(server)`")
        }
        let folder = Environment.absolute(authority)
        guard DurableFile.isFolder(folder) else { throw RunFailure.usage("--authority: \(folder) is not a folder") }
        let pem = try mapError(DurableFile.read(Environment.absolute(ca), atMost: 1 << 20)) { (error: FileError) in
            RunFailure.usage("--ca: \(error)")
        }
        let name = self.serverName ?? address.host
        var settings = WalletSettings(
            server: .init(host: address.host, port: address.port, name: name, trust: .authority(pem: pem))
        )
        settings.authorityFolder = folder
        guard await settings.server.isReachable() else {
            throw RunFailure(exitCode: Self.unavailable, message: "no server answers at \(server)")
        }
        return .server(settings)
    }

    private func binary() throws -> String {
        let path = self.serverBinary.map(Environment.absolute) ?? Self.siblingProgram
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw RunFailure(
                exitCode: Self.unavailable,
                message: "no server program at \(path); build it, or name it with --server-binary"
            )
        }
        return path
    }

    private static var siblingProgram: String {
        let name = "remote-pin-server"
        if let path = try? OtherProgram.path(besideThisOne: name) { return path }
        let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        return folder.appendingPathComponent(name).path
    }

    /// EX_UNAVAILABLE from sysexits.h.
    private static let unavailable: Int32 = 69
}

/// The options for reports and other output.
struct RunOutputOptions: ParsableArguments {
    @Option(
        name: .customLong("format"),
        help: ArgumentHelp("text (default), junit, github or json.", valueName: "name")
    )
    var formatName: ReportFormat?

    @Flag(help: "Same as --format json.")
    var json = false

    var format: ReportFormat { self.json ? .json : self.formatName ?? .text }

    @Option(help: ArgumentHelp("Write the report to this file, and a summary to the terminal.", valueName: "file"))
    var output: String?

    @Option(
        name: .customLong("report"),
        parsing: .upToNextOption,
        help: ArgumentHelp("Write a report with every screen to this folder: html DIR.", valueName: "html dir"),
        completion: .directory
    )
    var pages: [String] = []

    @Option(help: ArgumentHelp("Write the screens as a recording for asciinema.", valueName: "file"))
    var cast: String?

    /// The folder for the report that shows every screen, or nil if the report was not requested.
    var pageFolder: String? { self.pages.dropFirst().first }

    /// The scenario files after the folder, which the parser treats as values of the same option.
    var filesAfterReport: [String] { Array(self.pages.dropFirst(2)) }

    @Option(help: ArgumentHelp("Fail if no scenario reaches a step of this list.", valueName: "file"))
    var coverage: String?

    @Option(help: ArgumentHelp("Write a table of cases, files and steps to this file.", valueName: "file"))
    var table: String?

    @Option(help: ArgumentHelp("Fail if this file differs from the table of the run.", valueName: "file"))
    var tableCheck: String?

    @Flag(help: "Print the JSON schema of scenario files, for editors.")
    var schema = false

    @Flag(help: "Print the reference of keys.")
    var keys = false

    func validate() throws {
        guard !self.json || (self.formatName ?? .json) == .json else {
            throw ValidationError("--json contradicts --format \(self.formatName?.rawValue ?? ""); omit one of them")
        }
        guard self.pages.isEmpty || self.pages.first == "html" && self.pages.count > 1 else {
            throw ValidationError("--report must be `html DIR`, such as --report html report.")
        }
        try PathArgument.check(
            [self.output, self.cast, self.coverage, self.table, self.tableCheck].compactMap(\.self) + self.pages
        )
    }

    var hasTable: Bool { self.table != nil || self.tableCheck != nil }

    /// Whether any output was requested other than text on the terminal.
    var writesFiles: Bool {
        self.hasTable || self.output != nil || self.coverage != nil || self.format != .text || self.cast != nil
            || !self.pages.isEmpty
    }

    /// Throws if an output cannot be written or compared, so that a run does not lose its results.
    func check() throws {
        do {
            for path in [self.output, self.cast, self.table].compactMap(\.self) {
                try OutputFile.check(Environment.absolute(path))
            }
            if let folder = self.pageFolder.map(Environment.absolute) {
                try DurableFile.makeFolder(folder, mode: 0o755)
                try OutputFile.check(folder: folder)
            }
        } catch {
            throw RunFailure.usage("\(error)")
        }
        for path in [self.coverage, self.tableCheck].compactMap(\.self) { _ = try Self.text(of: path) }
    }

    /// Writes the report that shows every screen and the recording, if requested.
    func writeScreens(_ report: Report) throws {
        if let folder = self.pageFolder.map(Environment.absolute) {
            try DurableFile.makeFolder(folder, mode: 0o755)
            for (name, html) in HTMLReport(report).pages { try Self.write(html, to: "\(folder)/\(name)") }
            StandardStreams.writeError("report: \(folder)/index.html\n")
        }
        if let cast { try Self.write(CastReport.text(report.results), to: cast) }
    }

    /// Whether to print the scenario format without running anything.
    var writesFormat: Bool { self.schema || self.keys }

    /// Prints the schema or the keys; returns false if neither was requested.
    func writeFormat() throws -> Bool {
        if self.schema { StandardStreams.writeOutput(ScenarioSchema.text) }
        if self.keys { StandardStreams.writeOutput(ScenarioManual.markdown) }
        return self.writesFormat
    }

    func coverage(of results: [ScenarioResult]) throws -> Coverage? {
        guard let path = self.coverage else { return nil }
        return Coverage(of: results, in: try Self.text(of: path))
    }

    /// Writes the report to its file or to standard output.
    func write(_ report: Report) throws {
        let text = report.text(as: self.format)
        if let path = self.output {
            try Self.write(text, to: path)
            StandardStreams.writeOutput(TextReport(isColored: ScenarioProgress.isColored).end(report))
        } else if self.format == .text {
            // The results have already been printed as they came in.
            StandardStreams.writeOutput(TextReport(isColored: ScenarioProgress.isColored).end(report))
        } else {
            StandardStreams.writeOutput(text)
        }
    }

    /// Writes or verifies the table; returns false if it is out of date.
    func writePage(_ results: [ScenarioResult]) throws -> Bool {
        let page = ScenarioPage.text(results)
        if let path = self.table { try Self.write(page, to: path) }
        guard let path = self.tableCheck, try Self.text(of: path) != page else { return true }
        StandardStreams.writeError(
            "wallet: \(path) differs from the table of this run; update it with --table \(path)\n"
        )
        return false
    }

    private static func text(of path: String) throws -> String {
        try mapError(DurableFile.readText(path, atMost: 1 << 22)) { (error: FileError) in RunFailure.usage("\(error)") }
    }

    private static func write(_ text: String, to path: String) throws {
        try OutputFile.write(Array(text.utf8), to: Environment.absolute(path))
    }
}

/// A path on the command line.
enum PathArgument {
    /// Throws if a path is empty, which would stand for the current folder.
    static func check(_ paths: [String?]) throws {
        if paths.contains("") { throw ValidationError("A path must not be empty.") }
    }
}

/// The error when a run cannot start or its report cannot be written, with a message for the user and an exit code.
struct RunFailure: Error {
    var exitCode: Int32
    var message: String

    init(exitCode: Int32, message: String) {
        self.exitCode = exitCode
        self.message = message
    }

    /// Converts an error thrown during a run.
    init(_ error: any Error) {
        self = error as? RunFailure ?? RunFailure(exitCode: WalletExitStatus.failed.rawValue, message: "\(error)")
        self.message = TextLayout.harmless(self.message)
    }

    static func usage(_ message: String) -> RunFailure {
        RunFailure(exitCode: WalletExitStatus.usage.rawValue, message: message)
    }
}

extension ReportFormat: ExpressibleByArgument {}

/// The options that select scenarios and determine their order and repetitions.
struct RunSelectionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only scenarios whose case, title or path contains this text.", valueName: "text"))
    var filter: String?

    @Option(
        name: .customLong("tag"),
        help: ArgumentHelp("Only scenarios with this tag; repeatable.", valueName: "name")
    )
    var tags: [String] = []

    @Option(
        name: .customLong("skip-tag"),
        help: ArgumentHelp("No scenario with this tag; repeatable.", valueName: "name")
    )
    var skippedTags: [String] = []

    @Option(
        help: ArgumentHelp("Only scenarios that failed in the run that wrote this JSON report.", valueName: "file"),
        completion: .file(extensions: ["json"])
    )
    var lastFailed: String?

    @Option(help: ArgumentHelp("Only the I-th of N parts, each of which has other scenarios.", valueName: "i/n"))
    var shard: Shard?

    @Option(
        name: .customLong("repeat"),
        help: ArgumentHelp("Play each scenario this many times, to find flaky ones.", valueName: "n")
    )
    var count: Int?

    @Option(
        name: .customLong("shuffle"),
        help: ArgumentHelp("Play in the random order of this number; the same number repeats it.", valueName: "seed")
    )
    var seed: UInt64?

    @Option(help: ArgumentHelp("Play a failed scenario again, and report it as flaky if it passes.", valueName: "n"))
    var retries: Int = 0

    @Flag(help: "Start no further scenario after a failure.")
    var failFast = false

    func validate() throws {
        try PathArgument.check([self.lastFailed])
        if let count, !(1...10_000).contains(count) { throw ValidationError("--repeat must be 1 to 10000.") }
        guard (0...100).contains(self.retries) else { throw ValidationError("--retries must be 0 to 100.") }
    }

    /// Returns the selected scenarios in the order in which to run them.
    ///
    /// - Throws: An error if no scenario is selected, because an empty run would pass.
    func scenarios(of all: [Scenario]) throws -> [Scenario] {
        var chosen = try self.failed(self.tagged(all)).filter { scenario in
            guard let filter else { return true }
            return [scenario.caseID, scenario.title, scenario.path].contains { $0.contains(filter) }
        }
        guard !chosen.isEmpty else {
            let tags = self.tags.isEmpty ? "" : " with \(self.tags.map { "the tag `\($0)`" }.joined(separator: " or "))"
            let text = self.filter.map { "'s case, title or path contains `\($0)`" } ?? " is selected"
            throw RunFailure.usage("no scenario\(tags)\(text)")
        }
        if let shard {
            guard shard.number <= chosen.count else {
                throw RunFailure.usage(
                    "the shard \(shard) is empty; the number of selected scenarios is \(chosen.count)"
                )
            }
            chosen = ScenarioOrder.shard(shard.number, of: shard.count, chosen)
        }
        let repeated = ScenarioOrder.repeated(chosen, self.count ?? 1)
        return self.seed.map { ScenarioOrder.shuffled(repeated, seed: $0) } ?? repeated
    }

    private func tagged(_ all: [Scenario]) throws -> [Scenario] {
        let known = Set(all.flatMap(\.tags))
        for tag in self.tags + self.skippedTags where !known.contains(tag) {
            let hint = NearestName.hint(for: tag, among: known.sorted())
            throw RunFailure.usage("no scenario has the tag `\(tag)`\(hint)")
        }
        return all.filter { scenario in
            let tags = Set(scenario.tags)
            return (self.tags.isEmpty || !tags.isDisjoint(with: self.tags)) && tags.isDisjoint(with: self.skippedTags)
        }
    }

    private func failed(_ all: [Scenario]) throws -> [Scenario] {
        guard let lastFailed else { return all }
        let text = try mapError(DurableFile.readText(lastFailed, atMost: 1 << 28)) { (error: FileError) in
            RunFailure.usage("\(error)")
        }
        guard let files = JSONReport.failedFiles(in: text) else {
            throw RunFailure.usage("\(lastFailed) is not a report of `wallet run --json --output FILE`")
        }
        guard !files.isEmpty else { throw RunFailure.usage("no scenario failed in the run of \(lastFailed)") }
        let failed = Set(files.map(Environment.absolute))
        let failures = all.filter { failed.contains(Environment.absolute(TextLayout.harmlessLine($0.path))) }
        guard !failures.isEmpty else {
            let list = files.joined(separator: ", ")
            throw RunFailure.usage("none of these scenarios failed in the run of \(lastFailed); it lists \(list)")
        }
        return failures
    }
}

/// The value of `--shard`: a part of the selected scenarios, such as `2/4`.
struct Shard: ExpressibleByArgument, CustomStringConvertible {
    let number: Int
    let count: Int

    init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], count >= 1, (1...count).contains(number)
        else { return nil }
        (self.number, self.count) = (number, count)
    }

    var description: String { "\(self.number)/\(self.count)" }
}

/// The output of `wallet run --list`.
enum ScenarioList {
    /// Returns a line for each scenario with its test case, tags, title and file.
    static func text(_ scenarios: [Scenario]) -> String {
        let rows = scenarios.map { ($0.caseID, $0.tags.joined(separator: ","), $0.title, $0.path) }
        let widths = [rows.map(\.0.count), rows.map(\.1.count), rows.map(\.2.count)].map { $0.max() ?? 0 }
        return rows.map { row in
            let columns = zip([row.0, row.1, row.2], widths).filter { $1 > 0 }.map { TextLayout.padded($0, $1) }
            return (columns + [TextLayout.harmlessLine(row.3)]).joined(separator: "  ") + "\n"
        }.joined()
    }
}
