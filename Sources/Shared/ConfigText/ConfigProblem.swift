/// One mistake in a configuration file, an environment variable or a flag.
package struct ConfigProblem: Hashable, Sendable, CustomStringConvertible {
    /// The file's path, the environment variable or the flag; empty if the value is not set by any source.
    package var source: String
    /// The line in the file, counting from 1; nil if the problem is not in a single line.
    package var line: Int?
    /// The key, including the keys above it, such as `steps.expect.screen`; empty for a problem of the whole source.
    package var key: String
    /// The mistake and the allowed values, to be printed after the key.
    package var message: String

    package init(source: String, line: Int? = nil, key: String = "", message: String) {
        self.source = source
        self.line = line
        self.key = key
        self.message = message
    }

    /// The source with the line: `server.yaml:12`.
    package var place: String { self.line.map { "\(self.source):\($0)" } ?? self.source }

    /// The key and the message, without the place.
    package var text: String { self.key.isEmpty ? self.message : "`\(self.key)` \(self.message)" }

    package var description: String { self.place.isEmpty ? self.text : "\(self.place): \(self.text)" }
}

/// All problems of a configuration, so that the user can correct them in one edit.
package struct ConfigError: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one.
    package var problems: [ConfigProblem]

    package init(problems: [ConfigProblem]) {
        self.problems = problems
    }

    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
