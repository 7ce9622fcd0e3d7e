internal import ConfigText
internal import FoundationEssentials
internal import Vocabulary

/// Formats results as a JSON object whose names keep their meaning throughout version 1.
package enum JSONReport {
    static func text(_ report: Report) -> String { JSONText.encoded(Document(report: report), isPretty: true) + "\n" }

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
        let report: Report

        enum Key: String, CodingKey {
            case v, passed, flaky, failed, skipped, knownFailures, durationMs, scenarios, coverage
        }

        func encode(to encoder: any Encoder) throws {
            let results = self.report.results
            var fields = encoder.container(keyedBy: Key.self)
            try fields.encode(1, forKey: .v)
            try fields.encode(self.report.count(.passed), forKey: .passed)
            try fields.encode(self.report.count(.flaky), forKey: .flaky)
            try fields.encode(self.report.count(.failed), forKey: .failed)
            try fields.encode(self.report.count(.skipped), forKey: .skipped)
            try fields.encode(self.report.count(.knownFailure), forKey: .knownFailures)
            try fields.encode(self.report.duration.milliseconds, forKey: .durationMs)
            try fields.encode(results.map(Entry.init), forKey: .scenarios)
            try fields.encodeIfPresent(self.report.coverage, forKey: .coverage)
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
