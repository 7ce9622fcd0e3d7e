import Foundation

/// The targets of Package.swift with their dependencies, read from the text of the manifest.
///
/// `swift package dump-package` waits for the lock that `swift test` holds on the build folder.
struct Manifest {
    /// The folder of each target; empty if the target declares none.
    private(set) var paths: [String: String] = [:]
    /// The direct dependencies of each target: targets by name, products by the name of their constant in the manifest.
    private var dependencies: [String: Set<String>] = [:]

    init(of tree: SourceTree) throws {
        let text = try String(contentsOf: tree.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        let declaration =
            /arget\(\s*name: "([^"]+)"(?:,\s*dependencies: \[([^\]]*)\])?(?:,\s*path: "([^"]+)")?/
        for match in text.matches(of: declaration) {
            let name = String(match.output.1)
            let names = (match.output.2 ?? "").split(whereSeparator: { " ,\"\n".contains($0) })
            self.dependencies[name] = Set(names.map(String.init))
            self.paths[name] = match.output.3.map { String($0) } ?? ""
        }
    }

    /// The direct and transitive dependencies of `target`.
    func closure(of target: String) -> Set<String> {
        var found: Set<String> = []
        var pending = Array(self.dependencies[target] ?? [])
        while let next = pending.popLast() {
            if found.insert(next).inserted { pending += self.dependencies[next] ?? [] }
        }
        return found
    }
}
