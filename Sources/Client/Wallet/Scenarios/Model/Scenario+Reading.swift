package import ConfigText
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
        self.wallet = AppConfiguration(value["wallet"])
        let line = value["steps"]?.line
        guard let steps = try Step.all(value["steps"]?.list ?? [], of: path) else {
            let message = "the scenario, or a `for each` in it, is without a step or without a value, and shows nothing"
            throw ConfigError(problems: [ConfigProblem(source: path, line: line, message: message)])
        }
        self.steps = folder.setUp.map { $0.included(at: line ?? 0) } + steps
        self.tearDown = folder.tearDown.map { $0.included(at: line ?? 0) }
        let problems = Self.undefinedNames(in: self.steps + self.tearDown, of: path)
        guard problems.isEmpty else { throw ConfigError(problems: problems) }
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

extension AppConfiguration {
    init(_ value: ConfigValue?) {
        func text(_ name: String) -> String? { value?[name]?.unescaped.text.flatMap { $0 == "none" ? nil : $0 } }
        self.language = text("language")
        self.product = text("product")
        self.linkBase = text("link_base")
        self.lockAfterBackground = value?["lock_after_background"]?.duration
        self.lockAfterInactivity = value?["lock_after_inactivity"]?.duration
        self.lockWarningAfter = value?["lock_warning_after"]?.duration
        self.pinAfterEnrollment = value?["pin_after_enrollment"]?.truth
        self.confirmsWithPrompt = value?["confirm_with_prompt"]?.truth
    }
}

extension Step {
    /// The name whose value is a dollar sign, so that `${$}{x}` stands for the text `${x}`.
    static let dollar = "${$}"

    /// Reads a list of steps, including the files it refers to.
    ///
    /// Returns nil if the list is empty or a step has no value.
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
        guard let (name, value) = step.fields?.first, let action = Action(name, value) else { return nil }
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
