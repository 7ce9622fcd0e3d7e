package import ConfigText
internal import WalletFlows
internal import Foundation
internal import HostSystem
internal import Yams

extension Scenario {
    /// Returns false for files in a folder that are not YAML, or that only contain steps for the folder's scenarios.
    package static func isScenario(file: String) -> Bool {
        let name = file.lowercased()
        return (name.hasSuffix(".yaml") || name.hasSuffix(".yml")) && !name.hasSuffix(IncludedSteps.suffix)
            && !name.hasSuffix("/\(FolderSteps.fileName)")
    }

    /// Returns false for a file of a folder without any of the keys that only scenarios have.
    ///
    /// In a file that cannot be parsed, or only in part because it is too long, a line that begins with such a key
    /// counts, so that the reason why the scenario cannot be played is reported. The same applies to a file that
    /// cannot be read.
    package static func isScenario(contentsOf path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return true }
        // The end of an empty file is nil.
        let text = String(decoding: (try? file.read(upToCount: Self.limit)) ?? Data(), as: UTF8.self)
        if let keys = try? YAMLText.compose(text)?.mapping?.keys.compactMap(\.scalar?.string) {
            return !Set(keys).isDisjoint(with: Self.ownKeys)
        }
        return text.split(whereSeparator: \.isNewline).contains { line in
            Self.ownKeys.contains { line.hasPrefix("\($0):") }
        }
    }

    /// The keys that files of other programs do not have at the top.
    private static let ownKeys = ["case", "steps"]

    /// The largest size of a scenario file in bytes.
    private static let limit = 1 << 20

    /// Reads a scenario file.
    ///
    /// - Throws: A single error that lists every problem in the file.
    package init(file path: String) throws(ConfigError) {
        let text = try mapError(DurableFile.readText(path, atMost: Self.limit)) { (error: FileError) in
            // rule: scenario-file-named-twice
            ConfigError(problems: [ConfigProblem(source: path, message: error.reason)])
        }
        try self.init(yaml: text, path: path, in: FolderSteps(beside: path))
    }

    /// Parses the text of a scenario file.
    ///
    /// `path` is used in error messages.
    package init(yaml: String, path: String) throws(ConfigError) {
        try self.init(yaml: yaml, path: path, in: FolderSteps())
    }

    private init(yaml: String, path: String, in folder: FolderSteps) throws(ConfigError) {
        var checker = Checker(source: path)
        let value = checker.read(yaml, as: .fields(ScenarioTable.root)) { (root) throws(YAMLFault) in
            try ForEach.expanded(root)
        }
        guard checker.problems.isEmpty, let value else {
            throw ConfigError(problems: checker.problems.sorted { $0.line ?? 0 < $1.line ?? 0 })
        }
        self.path = path
        self.caseID = value["case"]?.text ?? ""
        self.title = TextLayout.harmlessLine(value["title"]?.text ?? "")
        self.tags = value["tags"]?.texts ?? []
        self.knownFailure = value["known failure"].flatMap { mark in
            mark.text.map { KnownFailure(reason: TextLayout.harmlessLine($0), line: mark.line ?? 0) }
        }
        self.timeLimit = value["time limit"]?.duration ?? ScenarioTable.timeLimit
        self.server = (value["server"]?.fields ?? [:]).mapValues(\.flowText)
        self.device = DeviceChange(value["device"])
        self.wallet = AppConfiguration(value: value["wallet"])
        let line = value["steps"]?.line
        guard let steps = try Step.all(value["steps"]?.list ?? [], of: path) else {
            let message = "the scenario, or a `for each` in it, is without a step or without a value, and shows nothing"
            throw ConfigError(problems: [ConfigProblem(source: path, line: line, message: message)])
        }
        self.steps = folder.setUp.map { $0.included(at: line ?? 0) } + steps
        self.tearDown = folder.tearDown.map { $0.included(at: line ?? 0) }
        let all = self.steps + self.tearDown
        let problems =
            Self.undefinedNames(in: all, of: path) + Self.refusedServers(in: all, after: self.server, of: path)
            + Self.refusedPhones(in: all, of: path)
        guard problems.isEmpty else { throw ConfigError(problems: problems) }
    }

    /// Returns a problem for each start of the server that the settings in force by then prevent.
    private static func refusedServers(
        in steps: [Step],
        after server: [String: String],
        of path: String
    ) -> [ConfigProblem] {
        var settings = server
        return steps.flatMap { step -> [ConfigProblem] in
            guard case .startServer(let changes) = step.action, !changes.isEmpty else { return [] }
            settings.merge(changes) { $1 }
            let texts = settings.map { "\($0.key): \($0.value)" }
            // The value of a name is known to the run only.
            guard !texts.contains(where: { $0.contains("${") }) else { return [] }
            var checker = Checker(source: path)
            let text = "{\(texts.joined(separator: ", "))}"
            _ = checker.read(text, as: .fields(ServerTable.settings, rule: ServerTable.rule))
            return checker.problems.map {
                ConfigProblem(source: path, line: step.line, key: "steps.start server.\($0.key)", message: $0.message)
            }
        }
    }

    /// Returns a problem for each phone with a name that the lab uses in the same folder.
    private static func refusedPhones(in steps: [Step], of path: String) -> [ConfigProblem] {
        steps.compactMap { step in
            switch step.action {
            case .phone(let name, _), .clone(let name):
                guard LabServer.names.contains(name) else { return nil }
                let message = LabServer.refusal(of: name)
                return ConfigProblem(source: path, line: step.line, key: "steps", message: message)
            default: return nil
            }
        }
    }

    /// Returns a problem for each `${NAME}` whose value no earlier step keeps.
    private static func undefinedNames(in steps: [Step], of path: String) -> [ConfigProblem] {
        var known: Set<String> = []
        var problems: [ConfigProblem] = []
        for step in steps {
            for match in step.text.matches(of: /\$\{([^}]*)\}?/)
            where match.0 != Step.dollar && !known.contains(String(match.1)) {
                let hint = NearestName.hint(for: String(match.1), among: known.sorted())
                let message = "has no value for `${\(match.1)}`\(hint)"
                let problem = ConfigProblem(source: path, line: step.line, key: "steps", message: message)
                if !problems.contains(problem) { problems.append(problem) }
            }
            known.formUnion(step.action.keptNames)
        }
        return problems
    }
}

extension ConfigValue {
    /// The value with a dollar sign for each ``Step/dollar``, for texts in which no names are replaced.
    var unescaped: ConfigValue {
        switch self.content {
        case .nothing: self
        case .word(let text): ConfigValue(.word(text.replacing(Step.dollar, with: "$")), line: self.line)
        case .list(let list): ConfigValue(.list(list.map(\.unescaped)), line: self.line)
        case .fields(let fields): ConfigValue(.fields(fields.mapValues(\.unescaped)), line: self.line)
        }
    }
}

extension Step {
    /// The name whose value is a dollar sign, so that `${$}{x}` stands for the text `${x}`.
    static let dollar = "${$}"

    /// Reads a list of steps, including the files it refers to; returns nil if the list is empty or a step has no
    /// value.
    ///
    /// - Parameters:
    ///   - path: The file that contains the list.
    ///   - files: The files currently being read, none of which may be included again.
    static func all(_ list: [ConfigValue], of path: String, in files: [String] = []) throws(ConfigError) -> [Step]? {
        var steps: [Step] = []
        for value in list {
            if let included = value.fields?[IncludedSteps.name] {
                steps += try IncludedSteps.read(included, from: path, in: files + [path])
            } else {
                guard var step = Step(value) else { return nil }
                // As with `include`, the path starts at the folder of the file that contains the step.
                if case .expectScreenOf(let file) = step.action {
                    step.action = .expectScreenOf("\(DurableFile.folder(of: path))/\(file)")
                }
                steps.append(step)
            }
            // An included file may include others, each of them more than once.
            guard steps.count <= Self.limit else {
                let message = "more than \(Self.limit) steps with those of the included files"
                throw ConfigError(problems: [ConfigProblem(source: path, line: value.line, message: message)])
            }
        }
        return steps.isEmpty ? nil : steps
    }

    /// The largest number of steps in a scenario.
    private static let limit = 10_000

    /// Returns the step with the line number of the `include` that pulled it in.
    func included(at line: Int) -> Step {
        var step = self
        step.line = line
        return step
    }

    /// - Precondition: The checker accepted `step`: a single known name with a value of the right shape.
    private init?(_ step: ConfigValue) {
        guard let (name, value) = step.fields?.first, let action = StepTable.action(name, value) else { return nil }
        self.line = step.line ?? 0
        let summary = value.summary
        self.text = summary.isEmpty ? name : TextLayout.harmlessLine("\(name) \(summary)")
        self.action = action
    }
}

extension ConfigValue {
    /// A short form of the value for reports.
    fileprivate var summary: String {
        switch self.content {
        case .nothing: ""
        case .word(let text): text
        case .list(let list): list.map(\.summary).joined(separator: ", ")
        case .fields(let fields):
            fields.sorted { ($0.value.line ?? 0, $0.key) < ($1.value.line ?? 0, $1.key) }
                .map { "\($0.key): \($0.value.summary)" }.joined(separator: ", ")
        }
    }
}

extension Step.Action {
    /// - Precondition: The checker accepted `step`: a single known name with a value of the right shape.
    init?(_ step: ConfigValue) {
        guard let (name, value) = step.fields?.first, let action = StepTable.action(name, value) else { return nil }
        self = action
    }

    static func confirmation(_ value: ConfigValue) -> Self? {
        value["title"]?.text.map { .confirm(title: $0, details: value["details"]?.text ?? "") }
    }

    static func refusal(_ value: ConfigValue) -> Self? {
        guard let (name, value) = value.fields?.first else { return nil }
        if name == "confirm" { return Self.confirmation(value).map(Self.refused) }
        guard let text = value.text else { return nil }
        return switch name {
        case "tap": ActionID(rawValue: text).map { Self.refused(.tap([$0])) }
        case "enter": .refused(.enter([text]))
        case "biometric": Presentation(rawValue: text).map { Self.refused(.present([$0])) }
        default: nil
        }
    }
}

extension LinkText {
    init?(_ value: ConfigValue) {
        guard let url = value.text ?? value["url"]?.text else { return nil }
        self.url = url
        self.source = value["from"]?.text.flatMap(IncomingLink.Source.init) ?? .app
    }
}

extension SetUp {
    init(_ value: ConfigValue) {
        self.pin = value["pin"]?.text ?? ""
        self.enablesBiometrics = value["biometrics"]?.text == "enable"
        self.obtainsPID = value["pid"]?.truth ?? false
        self.codeName = value["keep_code"]?.text
    }
}

extension TraceExpectation {
    init(_ value: ConfigValue) {
        if let steps = value["contains"]?.texts {
            self = .contains(steps)
        } else {
            self = .exactly(value.texts ?? [])
        }
    }
}
