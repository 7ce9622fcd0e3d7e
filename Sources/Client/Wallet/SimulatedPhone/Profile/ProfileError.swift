/// One thing in a profile that is not as it must be.
public struct ProfileProblem: Hashable, Sendable, CustomStringConvertible {
    /// The file's path, or how else the profile is called.
    public var source: String
    /// From 1; nil where it is about no line.
    public var line: Int?
    /// The key that it is about; empty where it is about the whole.
    public var key: String
    /// What is wrong and what is allowed, in one sentence.
    public var text: String

    public init(source: String, line: Int?, key: String, text: String) {
        self.source = source
        self.line = line
        self.key = key
        self.text = text
    }

    public var description: String {
        let place = self.line.map { "\(self.source):\($0)" } ?? self.source
        return self.key.isEmpty ? "\(place): \(self.text)" : "\(place): `\(self.key)`: \(self.text)"
    }
}

/// Why a profile is not used: everything that is wrong with it, so that one edit mends it all.
public struct ProfileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one.
    public var problems: [ProfileProblem]

    public init(problems: [ProfileProblem]) {
        self.problems = problems
    }

    public var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
