package import ConfigText
internal import HostSystem
internal import DeviceInterface
internal import WalletFlows

extension Scenario {
    /// Reads a file.
    ///
    /// - Throws: All problems of the file at once.
    package init(file path: String) throws(ConfigError) {
        let text: String
        do throws(FileError) {
            text = String(decoding: try DurableFile.read(path, atMost: 1 << 20), as: UTF8.self)
        } catch {
            throw ConfigError(problems: [ConfigProblem(source: path, message: error.reason)])
        }
        try self.init(yaml: text, path: path)
    }

    /// Reads a file's text; problems name `path`.
    package init(yaml: String, path: String) throws(ConfigError) {
        var checker = Checker(source: path)
        let value = checker.read(yaml, as: .fields(ScenarioTable.root), expand: ForEach.expanded(_:))
        guard checker.problems.isEmpty, let value else {
            throw ConfigError(problems: checker.problems.sorted { $0.line ?? 0 < $1.line ?? 0 })
        }
        self.path = path
        self.caseID = value["case"]?.text ?? ""
        self.title = value["title"]?.text ?? ""
        self.tags = value["tags"]?.texts ?? []
        self.server = (value["server"]?.fields ?? [:]).mapValues(\.flowText)
        self.device = DeviceChange(value["device"])
        self.wallet = AppConfiguration(value["wallet"])
        let steps = value["steps"]?.list ?? []
        self.steps = steps.compactMap(Step.init)
        guard !steps.isEmpty, self.steps.count == steps.count else {
            let message = "the scenario, or a `for each` in it, is without a step or without a value, and shows nothing"
            throw ConfigError(problems: [ConfigProblem(source: path, line: value["steps"]?.line, message: message)])
        }
    }
}

extension AppConfiguration {
    init(_ value: ConfigValue?) {
        self.language = value?["language"]?.text
        self.product = value?["product"]?.text
        self.linkBase = value?["link_base"]?.text
        self.lockAfterBackground = value?["lock_after_background"]?.duration
        self.lockAfterInactivity = value?["lock_after_inactivity"]?.duration
        self.lockWarningAfter = value?["lock_warning_after"]?.duration
    }
}

extension Step {
    /// - Precondition: The checker accepted `step`: one known name with a value of its shape.
    init?(_ step: ConfigValue) {
        guard let (name, value) = step.fields?.first, let action = Action(name, value) else { return nil }
        self.line = step.line ?? 0
        let summary = value.summary
        self.text = summary.isEmpty ? name : "\(name) \(summary)"
        self.action = action
    }
}

extension ConfigValue {
    /// The value in a few words, for a report.
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
