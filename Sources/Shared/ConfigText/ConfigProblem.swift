/// A mistake in a configuration file, an environment variable or a flag.
package struct ConfigProblem: Hashable, Sendable, CustomStringConvertible {
    /// The path of the file or the name of the environment variable or flag; empty if the value has not been set
    /// anywhere.
    package var source: String
    /// The line in the file, counting from 1, or nil if the problem is not confined to a single line.
    package var line: Int?
    /// The key, including the keys above it, such as `steps.expect.screen`; empty if the problem concerns the whole
    /// source.
    package var key: String
    /// The mistake and the allowed values.
    ///
    /// Printed after the key. It has no control characters, although it may quote a value.
    package var message: String

    package init(source: String, line: Int? = nil, key: String = "", message: String) {
        self.source = source
        self.line = line
        self.key = TextLayout.harmlessLine(key)
        self.message = TextLayout.harmlessLine(message)
    }

    /// The source and line, such as `server.yaml:12`.
    package var place: String {
        let source = TextLayout.harmlessLine(self.source)
        return self.line.map { "\(source):\($0)" } ?? source
    }

    /// The key and the message, without the source.
    package var text: String { self.key.isEmpty ? self.message : "`\(self.key)` \(self.message)" }

    package var description: String { self.place.isEmpty ? self.text : "\(self.place): \(self.text)" }
}

/// All problems in a configuration, so that the user can fix them in a single edit.
package struct ConfigError: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one problem.
    package var problems: [ConfigProblem]

    package init(problems: [ConfigProblem]) { self.problems = problems }

    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
