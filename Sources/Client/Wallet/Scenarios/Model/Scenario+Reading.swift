internal import HostSystem
internal import DeviceInterface
internal import ConfigText
internal import WalletFlows
internal import Yams

extension Scenario {
    /// Reads a file; everything that is wrong with it is thrown at once.
    package init(file path: String) throws(FormatError) {
        let text: String
        do throws(FileError) {
            text = String(decoding: try DurableFile.read(path, atMost: 1 << 20), as: UTF8.self)
        } catch {
            // The problem names the file already.
            let place = "\(path): "
            let told = "\(error)"
            let message = told.hasPrefix(place) ? String(told.dropFirst(place.count)) : told
            throw FormatError(problems: [FormatProblem(path: path, line: 0, key: "", message: message)])
        }
        try self.init(yaml: text, path: path)
    }

    /// Reads a file's text; `path` is how problems name it.
    package init(yaml: String, path: String) throws(FormatError) {
        let root: Node
        do throws(YAMLFault) {
            root = try YAMLText.compose(yaml) ?? Node([] as [(Node, Node)])
        } catch {
            let problem = FormatProblem(path: path, line: error.line ?? 0, key: "", message: error.message)
            throw FormatError(problems: [problem])
        }
        var checker = Checker(path: path)
        let value = checker.read(root, as: .fields(ScenarioTable.root), key: "", line: 1)
        guard checker.problems.isEmpty, let value else {
            throw FormatError(problems: checker.problems.sorted { $0.line < $1.line })
        }
        self.path = path
        self.caseID = value["case"]?.text ?? ""
        self.title = value["title"]?.text ?? ""
        self.server = (value["server"]?.fields ?? [:]).mapValues { ServerTable.text($0.value) }
        self.device = DeviceChange(value["device"])
        self.wallet = AppConfiguration(value["wallet"])
        self.steps = (value["steps"]?.list ?? []).compactMap(Step.init)
    }
}

extension ServerTable {
    /// A checked value in the words of the server's settings.
    static func text(_ value: Value) -> String {
        switch value {
        case .text(let text): text
        case .number(let number): "\(number)"
        case .truth(let truth): "\(truth)"
        case .duration(let duration): DurationText.write(duration)
        case .list(let list): "[\(list.map { Self.text($0.value) }.joined(separator: ", "))]"
        case .nothing, .fields: ""
        }
    }
}

extension AppConfiguration {
    init(_ value: Value?) {
        self.language = value?["language"]?.text
        self.product = value?["product"]?.text
        self.linkBase = value?["link_base"]?.text
        self.lockAfterBackground = value?["lock_after_background"]?.duration
        self.lockAfterInactivity = value?["lock_after_inactivity"]?.duration
        self.lockWarningAfter = value?["lock_warning_after"]?.duration
    }
}

extension Step {
    /// - Precondition: The checker made `step`: one known name with a value of its shape.
    init?(_ step: Value.Located) {
        guard let (name, located) = step.value.fields?.first, let action = Action(name, located.value) else {
            return nil
        }
        self.line = step.line
        let words = located.value.words
        self.text = words.isEmpty ? name : "\(name) \(words)"
        self.action = action
    }
}

extension Value {
    /// In a few words, for a report.
    fileprivate var words: String {
        switch self {
        case .nothing: ""
        case .text(let text): text
        case .number(let number): "\(number)"
        case .truth(let truth): "\(truth)"
        case .duration(let duration): DurationText.write(duration)
        case .list(let list): list.map(\.value.words).joined(separator: ", ")
        case .fields(let fields):
            fields.sorted { $0.value.line != $1.value.line ? $0.value.line < $1.value.line : $0.key < $1.key }
                .map { "\($0.key): \($0.value.value.words)" }.joined(separator: ", ")
        }
    }
}
