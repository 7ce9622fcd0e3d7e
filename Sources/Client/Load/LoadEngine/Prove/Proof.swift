internal import ChildPrograms
internal import HistoryChecker
internal import HostSystem
internal import Subprocess
internal import Synchronization
internal import Vocabulary

/// Injects the faults and revocations of a proof during a run, and reports how clients were affected.
package final class Proof: Sendable {
    /// A fault, and the period from its injection to the injection of the next fault.
    struct Injection: Sendable {
        let fault: String
        /// The times, since the start of the run, at which the fault was injected and healed.
        let at: Duration
        var healed: Duration?
        /// The longest time between two answers to the same client.
        var gap: Duration = .zero
        var failure: String?
    }

    private struct State {
        var injections: [Injection] = []
        var revocations: [(wallet: WalletID, duration: Duration)] = []
        var failures: [String] = []
        var violations: [ServerPromise: Int] = [:]
        var epochSteps = 0
        var overflows = 0
        /// The first violation, with the wallet's events before it.
        var first: (text: String, transcript: WalletTranscript)?
    }

    let plan: ProofPlan
    let gaps = GapMeter()
    private let state = Mutex(State())

    package init(_ plan: ProofPlan) { self.plan = plan }

    // MARK: The run's side

    func note(_ violation: HistoryViolation, _ text: String, _ transcript: WalletTranscript?) {
        self.state.withLock { state in
            state.violations[ServerPromise(brokenBy: violation), default: 0] += 1
            if state.first == nil { state.first = (text, transcript ?? WalletTranscript()) }
        }
    }

    func noteHistories(epochSteps: Int, overflows: Int) {
        self.state.withLock { ($0.epochSteps, $0.overflows) = (epochSteps, overflows) }
    }

    /// Injects faults and revokes wallets until the task is cancelled.
    ///
    /// Every injected fault is healed before this returns.
    func run(in run: RunContext) async {
        await withTaskGroup { group in
            group.addTask { await self.injectFaults(in: run) }
            group.addTask { await self.revokeWallets(in: run) }
        }
    }

    private func injectFaults(in run: RunContext) async {
        guard let hook = self.plan.hook, !self.plan.faults.isEmpty else { return }
        var generator = PlanGenerator(seed: run.plan.seed, stream: 1 << 40)
        var rest: [String] = []
        let end = run.schedule.duration - self.plan.rest
        while true {
            let pause = self.plan.faultEvery * Double.random(in: 0.5...1.5, using: &generator)
            let length = self.plan.faultFor * Double.random(in: 0.5...1.5, using: &generator)
            if rest.isEmpty { rest = self.plan.faults.shuffled(using: &generator) }
            guard let fault = rest.popLast(), run.clock.now + pause + length < end else { break }
            await run.clock.sleep(until: run.clock.now + pause)
            guard !Task.isCancelled, !run.gauges.isStopping else { break }
            // An injected fault is always healed, even if the run ends in the meantime.
            await Task { await self.inject(fault, for: length, by: hook, in: run) }.value
        }
        await run.clock.sleep(until: run.schedule.duration)
        self.endLastGap()
    }

    private func inject(_ fault: String, for length: Duration, by hook: OperatorProgram, in run: RunContext) async {
        self.endLastGap()
        var injection = Injection(fault: fault, at: run.clock.now)
        run.events.mark(fault)
        do throws(OperatorProgram.Failure) {
            try await hook.run([fault])
            await run.clock.sleep(until: run.clock.now + length)
        } catch {
            injection.failure = error.description
        }
        do throws(OperatorProgram.Failure) {
            try await hook.run(["heal"])
            injection.healed = run.clock.now
            run.events.mark("healed")
        } catch {
            injection.failure = injection.failure ?? error.description
        }
        self.state.withLock { [injection] in $0.injections.append(injection) }
    }

    /// Ends the period of the last fault.
    private func endLastGap() {
        let gap = self.gaps.take()
        self.state.withLock { state in
            guard let last = state.injections.indices.last, state.injections[last].gap == .zero else { return }
            state.injections[last].gap = gap
        }
    }

    private func revokeWallets(in run: RunContext) async {
        guard let program = self.plan.revoke else { return }
        var generator = PlanGenerator(seed: run.plan.seed, stream: 1 << 41)
        while true {
            let pause = self.plan.revokeEvery * Double.random(in: 0.5...1.5, using: &generator)
            guard run.clock.now + pause < run.schedule.duration - self.plan.rest else { return }
            await run.clock.sleep(until: run.clock.now + pause)
            guard !Task.isCancelled, !run.gauges.isStopping else { return }
            // If no server is reachable, there may be no wallet in use.
            guard let wallet = run.histories.anyInUse else { continue }
            let began = run.clock.now
            do throws(OperatorProgram.Failure) {
                try await program.run(["\(wallet.wallet.walletID)"])
                // Every operation sent from now on must be answered with `revoked`.
                wallet.revocationReturned(at: run.serverTime)
                let duration = run.clock.now - began
                self.state.withLock { $0.revocations.append((wallet.wallet.walletID, duration)) }
            } catch {
                // The end of the run cancels the command.
                if !Task.isCancelled { self.state.withLock { $0.failures.append(error.description) } }
            }
        }
    }
}

// MARK: - Report

extension Proof {
    /// Returns the tables for the report, starting with the verdict.
    package func sections(for intervals: [Interval]) -> [ReportSection] {
        let state = self.state.withLock { $0 }
        var sections = [self.promiseTable(state, of: Totals(of: intervals)), self.faultTable(state)]
        if !state.injections.isEmpty { sections.append(self.gapTable(state)) }
        if let first = state.first {
            sections.append(
                ReportSection(
                    title: "First violation",
                    summary: first.text,
                    columns: ["server time", "event"],
                    rows: first.transcript.rows.map { [.text($0.time), .text($0.event)] },
                    verdict: .failed
                )
            )
        }
        return sections
    }

    private func promiseTable(_ state: State, of totals: Totals) -> ReportSection {
        let outcomes = totals.figures().outcomes
        func count(_ some: Outcome...) -> Int { some.reduce(0) { $0 + (outcomes[$1] ?? 0) } }
        let judged = count(.valid, .wrong, .changed)
        let answers = judged + count(.blocked, .blockedPermanently)
        let checked: [ServerPromise: Int] = [
            .noFreeGuess: count(.wrong, .blocked, .blockedPermanently), .rightPINCostsNothing: count(.valid, .changed),
            .changesSurvive: count(.changed), .revocationHolds: state.revocations.count, .answersFit: answers,
        ]
        var problems: [String] = []
        if answers == 0 { problems.append("no answer arrived") }
        if state.epochSteps > 0 { problems.append("\(state.epochSteps) histories met a restored backup") }
        if state.overflows > 0 {
            problems.append("\(state.overflows) times too many orders were possible to check all")
        }
        let broken = state.violations.values.reduce(0, +)
        let verdict = "\(answers) answers verified, \(broken) violations"
        return ReportSection(
            title: "Promises",
            summary: ([verdict] + problems).joined(separator: "; "),
            columns: ["promise", "answers", "violations", "verdict"],
            rows: ServerPromise.allCases.map { promise in
                let (answers, violations) = (checked[promise] ?? 0, state.violations[promise] ?? 0)
                let verdict = violations > 0 ? "broken" : answers == 0 ? "not exercised" : "kept"
                return [.text(promise.rawValue), .count(answers), .count(violations), .text(verdict)]
            },
            verdict: broken == 0 && problems.isEmpty ? .passed : .failed
        )
    }

    private func faultTable(_ state: State) -> ReportSection {
        let failures = state.injections.compactMap(\.failure) + state.failures
        let isMissing = self.plan.hook != nil && state.injections.isEmpty
        var summary = "\(state.injections.count) faults, \(state.revocations.count) revocations"
        if isMissing { summary += "; the run was too short for a fault" }
        if let failure = failures.first { summary += "; \(failure)" }
        return ReportSection(
            title: "Faults",
            summary: summary,
            columns: ["fault", "at", "healed at", "longest gap of a client"],
            rows: state.injections.map { injection in
                [
                    .text(injection.fault), .micros(injection.at.microseconds),
                    injection.healed.map { .micros($0.microseconds) } ?? .text("not healed"),
                    .micros(injection.gap.microseconds),
                ]
            },
            verdict: failures.isEmpty && !isMissing ? .neutral : .failed
        )
    }

    private func gapTable(_ state: State) -> ReportSection {
        let byFault = Dictionary(grouping: state.injections, by: \.fault)
        return ReportSection(
            title: "Gaps seen by clients",
            summary: "the longest time between two answers to one client, after each fault",
            columns: ["fault", "times", "median", "maximum"],
            rows: byFault.keys.sorted().map { fault in
                let gaps = (byFault[fault] ?? []).map(\.gap.microseconds).sorted()
                return [
                    .text(fault), .count(gaps.count), .micros(gaps[gaps.count / 2]), .micros(gaps[gaps.count - 1]),
                ]
            }
        )
    }
}

/// The faults and revocations in a run that proves a server's promises.
package struct ProofPlan: Sendable {
    /// A program that is called with the name of a fault, and later with `heal`, or nil for a run without faults.
    package var hook: OperatorProgram?
    /// The names of the faults.
    ///
    /// Each is injected about equally often.
    package var faults: [String] = []
    package var faultEvery: Duration = .seconds(20)
    package var faultFor: Duration = .seconds(3)
    /// A program that is called with the id of a wallet to revoke, or nil for a run without revocations.
    package var revoke: OperatorProgram?
    package var revokeEvery: Duration = .seconds(30)
    /// The time before the end of the plan during which no fault is injected, so that the servers can recover.
    package var rest: Duration = .seconds(10)

    package init() {}
}

/// A promise from docs/protocol.md that a run verifies.
enum ServerPromise: String, CaseIterable {
    case noFreeGuess = "No guess is free: every verdict told is counted, and no PIN is judged in a block"
    case rightPINCostsNothing = "After a right PIN no attempt remains counted, and no wallet is blocked without cause"
    case changesSurvive = "No acknowledged change of a PIN is lost, and two PINs never work at a time"
    case revocationHolds = "No verdict, share or session after an acknowledged revocation"
    case answersFit = "Every answer belongs to its request and its receipt"

    /// Finds the promise broken by a violation.
    init(brokenBy violation: HistoryViolation) {
        switch violation {
        case .impossibleCount(let said, let possible), .impossibleOpening(let said, let possible):
            // If fewer attempts are left than possible, the owner lost a guess. If more are left, the server gave one
            // away.
            let fewest = possible.map(\.attemptsLeft).min() ?? 0
            self = said.attemptsLeft < fewest ? .rightPINCostsNothing : .noFreeGuess
        case .judgedDuringBlock, .judgedBeyondBound, .impossibleNumber, .unexplainedAttempt, .olderEpoch,
            .missingReceipt, .wrongPINCalledValid:
            self = .noFreeGuess
        case .rightPINCalledWrong, .blockWithoutCause, .permanentBlockWithoutCause, .impossibleBlock:
            self = .rightPINCostsNothing
        case .impossiblePINKey: self = .changesSurvive
        case .answeredAfterRevocation: self = .revocationHolds
        case .shareOfAnotherWallet, .receiptContradictsVerdict, .answerToAnotherQuestion: self = .answersFit
        }
    }
}

extension PINState {
    /// The attempts left in the round, or 0 during a block.
    fileprivate var attemptsLeft: Int {
        if case .open(let left, _) = self { left } else { 0 }
    }
}

/// Measures the longest time that a client had to wait between two answers, separately for each fault.
final class GapMeter: Sendable {
    private let longest = Mutex<Duration>(.zero)

    /// Records the time between two answers to the same client.
    func note(_ gap: Duration) { self.longest.withLock { $0 = max($0, gap) } }

    /// Returns the longest time recorded since the last call.
    func take() -> Duration {
        self.longest.withLock { longest in
            defer { longest = .zero }
            return longest
        }
    }
}

/// A program provided by the operator: a fault hook, or a command that revokes a wallet.
package struct OperatorProgram: Sendable {
    /// A shell command line.
    ///
    /// Each call appends its arguments.
    package let command: String

    /// The time limit for a call.
    ///
    /// A program that takes longer is killed along with any processes it has started.
    package static let timeLimit: Duration = .seconds(120)
    private static let outputLimit = 65_536

    package init(_ command: String) { self.command = command }

    /// The program could not be started, failed, or exceeded its time limit.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    @discardableResult
    package func run(_ arguments: [String]) async throws(Failure) -> String {
        let result = await finished(within: Self.timeLimit) { await self.result(of: arguments) }
        let call = ([self.command] + arguments).joined(separator: " ")
        guard let result else { throw Failure(description: "`\(call)` did not end within \(Self.timeLimit)") }
        return try result.get()
    }

    private func result(of arguments: [String]) async -> Result<String, Failure> {
        let call = ([self.command] + arguments).joined(separator: " ")
        do {
            let run = try await Subprocess.run(
                .name("sh"),
                arguments: Arguments(["-c", "\(self.command) \"$@\"", "sh"] + arguments),
                platformOptions: .ownSession,
                output: .string(limit: Self.outputLimit),
                error: .string(limit: Self.outputLimit)
            )
            guard run.terminationStatus.isSuccess else {
                let line = run.standardError.split(whereSeparator: \.isNewline).last ?? "no message"
                return .failure(Failure(description: "`\(call)` failed: \(line)"))
            }
            return .success(run.standardOutput)
        } catch {
            return .failure(Failure(description: "`\(call)` cannot be run: \(error)"))
        }
    }
}
