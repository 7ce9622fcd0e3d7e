import Foundation

/// The targets of Package.swift with their dependencies, read from the text of the manifest.
///
/// `swift package dump-package` waits for the lock that `swift test` holds on the build folder.
struct Manifest {
    /// The folder of each target; empty if the target declares none.
    private(set) var paths: [String: String] = [:]
    /// The direct dependencies of each target: targets and products by name.
    private var dependencies: [String: Set<String>] = [:]

    init(of tree: SourceTree) throws {
        let text = try String(contentsOf: tree.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        let declaration =
            /\.(?:module|program|tests)\(\s*"([^"]+)"(?:,\s*named: "([^"]+)")?(?:,\s*(?:"""([^"]*)"""|"([^"]*)"))?/
        for match in text.matches(of: declaration) {
            let (path, names) = (String(match.output.1), match.output.3 ?? match.output.4 ?? "")
            let name = match.output.2.map { String($0) } ?? String(path.split(separator: "/").last ?? "")
            self.dependencies[name] = Set(names.split(whereSeparator: { " \\\n".contains($0) }).map(String.init))
            self.paths[name] = path.contains("/") ? path : ""
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
