public import Yams

/// The YAML that people write: settings, stages, scenarios, phones.
public enum YAMLText {
    /// The text's value, with the lines of its parts; nil where it holds none.
    public static func compose(_ text: String) throws(YAMLFault) -> Node? {
        if let alias = YAMLAliases.first(in: text) {
            throw YAMLFault(
                line: alias.line,
                message: "`*\(alias.name)` stands for something else; aliases are not taken, write it out"
            )
        }
        do {
            return try Yams.compose(yaml: text)
        } catch {
            throw YAMLFault(error)
        }
    }
}

/// Why a text cannot be read, for a person.
public struct YAMLFault: Error, Hashable, Sendable {
    /// From 1; nil where it is of no one line.
    public let line: Int?
    public let message: String

    init(line: Int?, message: String) {
        self.line = line
        self.message = message
    }

    init(_ error: any Error) {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            self.init(line: mark.line, message: "not YAML: \(problem)")
        case .reader(let problem, _, _, _):
            self.init(line: nil, message: "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map { "`\($0)`" }.sorted().joined(separator: ", ")
            self.init(line: context.mark.line, message: "\(names) stands there twice")
        default:
            self.init(line: nil, message: "not YAML")
        }
    }
}
