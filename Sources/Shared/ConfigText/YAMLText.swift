package import Yams

/// The YAML that people write: settings, stages, scenarios, phones.
package enum YAMLText {
    /// The text's value, with the lines of its parts; nil where it holds none.
    package static func compose(_ text: String) throws(YAMLFault) -> Node? {
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
package struct YAMLFault: Error, Hashable, Sendable {
    /// From 1; nil where it is of no one line.
    package let line: Int?
    package let message: String

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
            guard let key = keys.first, let later = Self.laterLine(of: key, than: context) else {
                self.init(line: context.mark.line, message: "\(names) stands there twice")
                return
            }
            self.init(line: later, message: "\(names) stands there twice, first in line \(context.mark.line)")
        default:
            self.init(line: nil, message: "not YAML")
        }
    }

    /// The line in which a key stands again, which is the one that somebody added; the parser knows the first alone.
    ///
    /// Nil where it is not the first word of a line in the same mapping.
    private static func laterLine(of key: String, than first: YamlError.Context) -> Int? {
        let indentation = String(repeating: " ", count: max(0, first.mark.column - 1))
        let lines = first.text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated().dropFirst(first.mark.line) {
            let text = line.drop { $0 == " " }
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard line.hasPrefix(indentation) else { return nil }
            if line.hasPrefix("\(indentation)\(key):") { return index + 1 }
        }
        return nil
    }
}
