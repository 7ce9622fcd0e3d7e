/// Something in a scenario file that is not as it must be.
public struct FormatProblem: Error, Hashable, Sendable, CustomStringConvertible {
    public var path: String
    /// From 1; 0 where it is about the whole file.
    public var line: Int
    /// The key that it is about, with those above it: `steps.expect.screen`; empty where it is about the whole file.
    public var key: String
    /// What is wrong and what is allowed, in one sentence.
    public var message: String

    public init(path: String, line: Int, key: String, message: String) {
        self.path = path
        self.line = line
        self.key = key
        self.message = message
    }

    public var description: String {
        let place = self.line > 0 ? "\(self.path):\(self.line)" : self.path
        return self.key.isEmpty ? "\(place): \(self.message)" : "\(place): `\(self.key)` \(self.message)"
    }
}

/// Why a file is not run: everything that is wrong with it, so that one edit mends it all.
public struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one, in the order of the lines.
    public var problems: [FormatProblem]

    public var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
