/// How one scenario went.
public struct ScenarioResult: Hashable, Sendable {
    public var path: String
    public var caseID: String
    public var title: String
    public var outcome: Outcome
    /// Real time from the first step to the last, the server's start included.
    public var duration: Duration
    /// Steps of the file that were done.
    public var stepsDone: Int
    public var stepsInAll: Int
    /// Steps of the flows that were taken, each once, in the order of the first time.
    public var reached: [String]
    /// What could not be done here, each with its reason.
    public var skips: [Skip]
    /// Where everything of it lies, when it was kept.
    public var folder: String?

    public enum Outcome: Hashable, Sendable {
        case passed
        case failed(Failure)
        /// Nothing was wrong as far as it went; it could not go on.
        case skipped(String)
    }

    /// A step of the file that was not done.
    public struct Skip: Hashable, Sendable {
        public var line: Int
        public var step: String
        public var reason: String
    }

    /// What a tester needs to know where a scenario went otherwise.
    public struct Failure: Hashable, Sendable {
        /// Where it stands in the file; 0 before the first step.
        public var line: Int
        /// The step, in words.
        public var step: String
        /// In one sentence.
        public var message: String
        /// What differed, side by side; empty where nothing was compared.
        public var differences: [Difference] = []
        /// The screen that was there, in lines.
        public var screen: [String] = []
        /// The steps of the flows since the last `trace`.
        public var trace: [String] = []
        /// The server's log lines that concern the wallet.
        public var log: [String] = []
    }

    /// One thing that is not as expected.
    public struct Difference: Hashable, Sendable {
        public var what: String
        public var expected: String
        public var seen: String
    }

    public var hasFailed: Bool {
        if case .failed = self.outcome { true } else { false }
    }
}

extension Duration {
    /// Seconds with three decimals, as reports write them.
    var secondsText: String {
        let (seconds, attoseconds) = self.components
        let thousandths = attoseconds / 1_000_000_000_000_000
        let digits = "\(thousandths)"
        return "\(seconds).\(String(repeating: "0", count: max(0, 3 - digits.count)))\(digits)"
    }
}
