/// Formats results as GitHub Actions workflow commands, which appear as annotations on the scenario files.
enum GitHubReport {
    static func text(_ report: Report) -> String {
        var lines: [String] = []
        for result in report.results {
            for failure in result.earlierFailures {
                lines.append(Self.command(result.hasFailed ? "error" : "warning", failure, result))
            }
            switch result.outcome {
            case .passed: break
            case .failed(let failure): lines.append(Self.command("error", failure, result))
            case .skipped(let reason):
                let place = [("file", result.path), ("title", "\(result.name) was skipped")]
                lines.append(Self.command("notice", place, reason))
            case .knownFailure(let reason, let failure):
                let place = [
                    ("file", result.path), ("line", "\(max(1, failure.line))"),
                    ("title", "\(result.name) is a known failure"),
                ]
                lines.append(Self.command("notice", place, "\(reason)\n\(failure.summary)"))
            }
        }
        if let coverage = report.coverage, !coverage.missing.isEmpty {
            let message = coverage.missing.joined(separator: " ")
            lines.append(Self.command("error", [("title", "steps of the flows that no scenario reaches")], message))
        }
        lines.append(TextReport(isColored: false).totals(report))
        return lines.joined(separator: "\n") + "\n"
    }

    private static func command(_ name: String, _ failure: ScenarioResult.Failure, _ result: ScenarioResult) -> String {
        let word = result.hasFailed ? "failed" : "is flaky"
        let place = [("file", result.path), ("line", "\(max(1, failure.line))"), ("title", "\(result.name) \(word)")]
        var message = ["\(failure.step): \(failure.message)"]
        message += failure.differences.map { "\($0.what): expected \($0.expected), seen \($0.seen)" }
        return Self.command(name, place, message.joined(separator: "\n"))
    }

    private static func command(_ name: String, _ properties: [(String, String)], _ message: String) -> String {
        let list = properties.map { "\($0.0)=\(Self.escaped($0.1, isProperty: true))" }.joined(separator: ",")
        return "::\(name) \(list)::\(Self.escaped(message))"
    }

    /// Escapes characters that would end a command or a property.
    private static func escaped(_ text: String, isProperty: Bool = false) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "%": result += "%25"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            case ":" where isProperty: result += "%3A"
            case "," where isProperty: result += "%2C"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
