/// Something in a scenario file that is not as it must be.
package struct FormatProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package var path: String
    /// From 1; 0 where it is about the whole file.
    package var line: Int
    /// The key that it is about, with those above it: `steps.expect.screen`; empty where it is about the whole file.
    package var key: String
    /// What is wrong and what is allowed, in one sentence.
    package var message: String

    package init(path: String, line: Int, key: String, message: String) {
        self.path = path
        self.line = line
        self.key = key
        self.message = message
    }

    package var description: String {
        let place = self.line > 0 ? "\(self.path):\(self.line)" : self.path
        return self.key.isEmpty ? "\(place): \(self.message)" : "\(place): `\(self.key)` \(self.message)"
    }
}

/// Why a file is not run: everything that is wrong with it, so that one edit mends it all.
package struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one, in the order of the lines.
    package var problems: [FormatProblem]

    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
