internal import ConfigText
internal import FoundationEssentials
internal import Vocabulary

/// Formats results as a JSON object whose names keep their meaning throughout version 1.
package enum JSONReport {
    static func text(_ report: Report) -> String { JSONText.encoded(Document(report), isPretty: true) + "\n" }

    /// Returns the files of the scenarios that failed, read from the report of a run, or nil if the text is not such a
    /// report.
    package static func failedFiles(in text: String) -> [String]? {
        struct Reading: Decodable {
            let scenarios: [Scenario]

            struct Scenario: Decodable {
                let file, outcome: String
            }
        }
        guard let report = try? JSONDecoder().decode(Reading.self, from: Data(text.utf8)) else { return nil }
        let failed = report.scenarios.filter { $0.outcome == ScenarioResult.Verdict.failed.rawValue }
        return failed.map(\.file)
    }

    private struct Document: Encodable {
        let v = 1
        let passed, flaky, failed, skipped, knownFailures: Int
        let durationMs: Int64
        let scenarios: [Entry]
        let coverage: Coverage?

        init(_ report: Report) {
            (self.passed, self.flaky) = (report.count(.passed), report.count(.flaky))
            (self.failed, self.skipped) = (report.count(.failed), report.count(.skipped))
            self.knownFailures = report.count(.knownFailure)
            self.durationMs = report.duration.milliseconds
            self.scenarios = report.results.map(Entry.init)
            self.coverage = report.coverage
        }
    }

    private struct Entry: Encodable {
        let file, `case`, title, outcome: String
        let repetition: Int?
        let durationMs: Int64
        let stepsDone, stepsInAll: Int
        let reached: [String]
        let reason, folder: String?
        let skips: [ScenarioResult.Skip]
        let failure: ScenarioResult.Failure?
        let earlierFailures: [ScenarioResult.Failure]

        init(_ result: ScenarioResult) {
            self.file = result.path
            self.case = result.caseID
            self.title = result.title
            self.outcome = result.verdict.rawValue
            self.repetition = result.repetition
            self.earlierFailures = result.earlierFailures
            self.durationMs = result.duration.milliseconds
            self.stepsDone = result.stepsDone
            self.stepsInAll = result.stepsInAll
            self.reached = result.reached
            self.folder = result.folder
            self.skips = result.skips
            switch result.outcome {
            case .passed: (self.reason, self.failure) = (nil, nil)
            case .skipped(let reason): (self.reason, self.failure) = (reason, nil)
            case .knownFailure(let reason, let failure): (self.reason, self.failure) = (reason, failure)
            case .failed(let failure): (self.reason, self.failure) = (nil, failure)
            }
        }
    }
}
