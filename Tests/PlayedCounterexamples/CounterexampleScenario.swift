/// A scenario file (docs/testing-guide.md) that plays a counterexample of the explorer against a lab's server.
///
/// The expectations state the invariants, not the answers of the code that violates them: this type counts attempts as
/// the policy requires. So the scenario passes once the code is correct.
package struct CounterexampleScenario {
    private static let (rightPIN, wrongPIN) = ("024791", "135790")

    /// The attempt policy, in which all blocks have the same length.
    package struct Policy: Hashable, Sendable {
        let rounds: Int
        let attempts: Int
        /// The length of a block in minutes.
        let block: Int

        package init(rounds: Int, attempts: Int, block: Int) {
            self.rounds = rounds
            self.attempts = attempts
            self.block = block
        }
    }

    private enum Screen { case none, prompt, dashboard, dead }

    private let policy: Policy
    private var lines: [String]
    private var screen = Screen.none
    // The state that the policy requires.
    private var failures = 0
    private var time = 0
    private var blockEnd = 0
    private var revocation: String?

    private init(_ policy: Policy, violated: String) {
        self.policy = policy
        self.lines = [
            "case: counterexample",
            "title: \(Self.quoted("Does not happen: \(violated)"))",
            "server: {pin.rounds: \(policy.rounds), pin.attempts-per-round: \(policy.attempts), "
                + "pin.blocks: [\(policy.block == 0 ? "" : "\(policy.block)m")]}",
            "steps:",
            "  - set up: {pin: \"\(Self.rightPIN)\", pid: true, keep_code: code}",
            "  - kill app",
        ]
    }

    /// Returns the text of the scenario file.
    ///
    /// - Parameter violated: The violated invariant, for the title.
    package static func text(of steps: [PlayedStep], under policy: Policy, violated: String) -> String {
        var scenario = Self(policy, violated: violated)
        for step in steps { scenario.add(step) }
        return scenario.lines.joined(separator: "\n") + "\n"
    }

    private static func quoted(_ text: String) -> String { "\"\(text.filter { $0 != "\"" && $0 != "\\" })\"" }

    private var isBlockedPermanently: Bool { self.failures >= self.policy.rounds * self.policy.attempts }
    private var isBlocked: Bool { self.time < self.blockEnd }

    private mutating func add(_ step: PlayedStep) {
        switch step {
        case .enter(let isRight, let lost): self.enter(isRight: isRight, lost: lost)
        case .newSession: self.screen = .dead
        case .restart: self.lines += ["  - kill server", "  - start server"]
        case .minute:
            self.time += 1
            self.lines.append("  - advance: 1m")
            if self.screen != .prompt { self.screen = .dead }
        case .revokeWithCode: self.revoke("revoke with code: ${code}", "user")
        case .revokeWallet: self.revoke("revoke wallet", "wallet")
        }
        self.expectServer()
    }

    private mutating func revoke(_ step: String, _ reason: String) {
        self.lines.append("  - \(step)")
        // The first revocation counts.
        self.revocation = self.revocation ?? reason
        self.screen = .dead
    }

    private mutating func enter(isRight: Bool, lost: Int) {
        switch self.screen {
        case .none: self.lines.append("  - launch")
        case .prompt: self.lines.append("  - tap: close")
        case .dashboard: self.lines.append("  - tap: [menu, log-out]")
        case .dead: self.lines += ["  - kill app", "  - launch"]
        }
        self.screen = .dead
        // The app of a revoked wallet does not ask for a PIN.
        if self.revocation != nil { return self.lines.append("  - expect: {kind: screen, input: none, locked: true}") }
        if lost > 0 {
            let conditions = [String](repeating: "\"lose-next-reply:instruct\"", count: lost)
            self.lines.append("  - device: {conditions: [\(conditions.joined(separator: ", "))]}")
        }
        self.lines.append("  - enter: \"\(isRight ? Self.rightPIN : Self.wrongPIN)\"")
        if self.isBlockedPermanently || self.isBlocked {
            // No PIN is judged.
        } else if isRight {
            self.failures = 0
            self.screen = .dashboard
            return self.lines.append("  - expect: {title: Dashboard, locked: false}")
        } else {
            self.failures += 1
            if self.failures % self.policy.attempts == 0 { self.blockEnd = self.time + self.policy.block }
        }
        if self.isBlockedPermanently { return self.lines.append("  - expect: {title: App is Blocked, locked: true}") }
        if self.isBlocked { return self.lines.append("  - expect: {title: Temporarily Blocked, locked: true}") }
        self.screen = .prompt
        self.lines.append("  - expect: {title: \"Wrong PIN, retry\", locked: true}")
    }

    private mutating func expectServer() {
        let state = self.isBlockedPermanently ? "blocked-permanently" : self.isBlocked ? "blocked" : "open"
        let revoked = self.revocation ?? "\"no\""
        self.lines.append("  - server: {state: \(state), failed_attempts: \(self.failures), revoked: \(revoked)}")
    }
}
