internal import ConfigText
internal import HostSystem
internal import Yams

/// Steps that come from another file: an `include`, or the steps shared by a folder's scenarios.
enum IncludedSteps {
    static let name = "include"

    static let fields: [Field] = [
        Field("file", ScenarioTable.relativeFile, "The file, with the key `steps`.", required: true),
        Field("with", .map(keys: "names", .text("a value")), "Values for `${NAME}` in its steps."),
    ]

    private static let root: [Field] = [
        Field("steps", .list(StepTable.anyStep), "The steps in order.", required: true)
    ]

    /// The suffix of files that can only be included.
    ///
    /// `wallet run` skips them when it is given a folder.
    static let suffix = ".steps.yaml"

    /// Reads the file named by an `include` step.
    ///
    /// - Parameters:
    ///   - value: The value of the `include` step.
    ///   - path: The file that contains the step.
    ///   - files: The files currently being read.
    /// - Throws: A single error that lists every problem in the included file.
    static func read(_ value: ConfigValue, from path: String, in files: [String]) throws(ConfigError) -> [Step] {
        let file = DurableFile.folder(of: path) + "/" + (value.text ?? value["file"]?.text ?? "")
        func fail(_ message: String) -> ConfigError {
            ConfigError(problems: [ConfigProblem(source: path, line: value.line, key: Self.name, message: message)])
        }
        guard !files.contains(file) else { throw fail("\(file) includes itself") }
        let values = (value["with"]?.fields ?? [:]).compactMapValues(\.text).map { ($0.key, $0.value) }
        let text = try mapError(DurableFile.read(file, atMost: 1 << 20)) { (error: FileError) in fail("\(error)") }
        let read = try Self.read(text, of: file, as: Self.root, with: values)
        guard let steps = try Step.all(read["steps"]?.list ?? [], of: file, in: files) else {
            throw fail("\(file) is without a step, or one of its steps is without a value")
        }
        return steps.map { Self.placed($0, in: file).included(at: value.line ?? 0) }
    }

    /// Checks a file of steps after its placeholders have been replaced.
    static func read(
        _ bytes: [UInt8],
        of file: String,
        as fields: [Field],
        with values: [(name: String, value: String)] = []
    ) throws(ConfigError) -> ConfigValue {
        var checker = Checker(source: file)
        let text = String(decoding: bytes, as: UTF8.self)
        let value = checker.read(text, as: .fields(fields)) { (root) throws(YAMLFault) in
            var room = ForEach.limit
            return try ForEach.expanded(try root.filled(with: values, &room))
        }
        guard checker.problems.isEmpty, let value else { throw ConfigError(problems: checker.problems) }
        return value
    }

    /// Prefixes the step text with its file and line.
    static func placed(_ step: Step, in file: String) -> Step {
        var step = step
        step.text = TextLayout.harmlessLine("\(file.split(separator: "/").last ?? ""):\(step.line) \(step.text)")
        return step
    }
}

/// The steps that run before and after every scenario in a folder, read from the folder's `folder.yaml`.
struct FolderSteps {
    static let fileName = "folder.yaml"

    var setUp: [Step] = []
    var tearDown: [Step] = []

    static let fields: [Field] = [
        Field("before", .list(StepTable.anyStep), "Steps before those of each scenario of the folder."),
        Field(
            "after",
            .list(StepTable.anyStep),
            "Steps after those of each scenario of the folder, even if one of them failed."
        ),
    ]

    /// Creates an instance with no steps.
    init() {}

    /// Reads `folder.yaml` next to the scenario, if there is one.
    init(beside path: String) throws(ConfigError) {
        let folder = DurableFile.folder(of: path)
        let file = "\(folder)/\(Self.fileName)"
        let bytes = try mapError(ifPresent(DurableFile.read(file, atMost: 1 << 20))) { (error: FileError) in
            ConfigError(problems: [ConfigProblem(source: file, message: error.reason)])
        }
        guard let bytes else { return }
        let value = try IncludedSteps.read(bytes, of: file, as: Self.fields)
        self.setUp = try Self.steps(value["before"], of: file)
        self.tearDown = try Self.steps(value["after"], of: file)
    }

    private static func steps(_ value: ConfigValue?, of file: String) throws(ConfigError) -> [Step] {
        guard let value else { return [] }
        guard let steps = try Step.all(value.list ?? [], of: file) else {
            let message = "must have a step, and each step a value"
            throw ConfigError(problems: [ConfigProblem(source: file, line: value.line, message: message)])
        }
        return steps.map { IncludedSteps.placed($0, in: file) }
    }
}
