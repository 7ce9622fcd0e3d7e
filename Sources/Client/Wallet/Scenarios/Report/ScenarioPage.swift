internal import Foundation
internal import WalletFlows

/// Generates docs/scenarios.md, which lists every test case with its file and the flow steps it takes.
package enum ScenarioPage {
    /// Returns the text of the page.
    ///
    /// Identical runs produce identical text.
    package static func text(_ results: [ScenarioResult]) -> String {
        var lines = [
            "# Scenarios",
            "",
            "Generated from a run by `wallet run --table`; `make scenarios` fails if the two differ.",
            "[testing-guide.md](testing-guide.md) describes the format, [steps.txt](steps.txt) lists the steps.",
            "",
            "| case | behavior | steps covered |",
            "| --- | --- | --- |",
        ]
        // Numbers are compared as such, so that SB2 comes before SB10.
        for result in results.sorted(by: { $0.caseID.compare($1.caseID, options: .numeric) == .orderedAscending }) {
            let link = "[\(result.caseID)](../\(Self.folder)\(Self.name(of: result.path)))"
            lines.append("| \(link) | \(result.title.replacing("|", with: "\\|")) | \(Self.steps(result.reached)) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let folder = "Tests/Scenarios/"

    /// Returns the path relative to the repository's scenario folder, or the file name if the file is elsewhere.
    private static func name(of path: String) -> Substring {
        guard let folder = path.ranges(of: Self.folder).last else { return path.split(separator: "/").last ?? "" }
        return path[folder.upperBound...]
    }

    /// Groups the steps by flow in document order, for example `PF2.8 1.1a 2.1 2.1a`.
    private static func steps(_ reached: [String]) -> String {
        let known = StepID.documented.map(\.description).filter(Set(reached).contains)
        var groups: [(flow: String, numbers: [String])] = []
        for step in known {
            let parts = step.split(separator: "/").map(String.init)
            if groups.last?.flow == parts[0] {
                groups[groups.count - 1].numbers.append(parts[1])
            } else {
                groups.append((parts[0], [parts[1]]))
            }
        }
        return groups.map { "**\($0.flow)** \($0.numbers.joined(separator: " "))" }.joined(separator: " · ")
    }
}
