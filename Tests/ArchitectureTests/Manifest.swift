import Foundation

/// The targets that Package.swift declares, read from its text.
struct Manifest {
    struct Target {
        /// The names of its dependencies within the package.
        var dependencies: [String] = []
        /// Empty if the target has no path of its own.
        var path = ""
    }

    private(set) var targets: [String: Target] = [:]

    /// - Precondition: swift format has written the file, so that each target's `name`, `path` and each of its
    ///   dependencies have a line of their own.
    init(of tree: SourceTree) throws {
        let text = try String(contentsOf: tree.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        var (name, isInDependencies) = ("", false)
        for line in text.split(separator: "\n") {
            let line = line.trimmingCharacters(in: .whitespaces)
            let quoted = line.split(separator: "\"", omittingEmptySubsequences: false)
            if line.hasPrefix("name: \"") {
                (name, isInDependencies) = (String(quoted[1]), false)
                self.targets[name] = Target()
            } else if line.hasPrefix(".target(name: \"") {
                self.targets[String(quoted[1])] = Target()
            } else if line.hasPrefix("path: \"") {
                self.targets[name]?.path = String(quoted[1])
            } else if line.hasPrefix("dependencies: [") {
                isInDependencies = true
            } else if line.hasPrefix("]") {
                isInDependencies = false
            } else if isInDependencies, line.hasPrefix("\"") {
                self.targets[name]?.dependencies.append(String(quoted[1]))
            }
        }
    }
}
