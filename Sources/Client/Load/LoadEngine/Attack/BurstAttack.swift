internal import AdminProtocol
internal import ConfigText
internal import HostSystem
internal import LabFiles
internal import Transport
internal import Vocabulary
internal import Wire

/// Sends many guesses for one wallet's PIN at once, one of them right, and repeats this with other wallets.
///
/// This tests the promise that the server does not judge more guesses in parallel than one by one. Wallets blocked by a
/// burst are used again when their blocks end. In a lab, the clock is advanced past the block immediately.
package struct BurstAttack: Sendable {
    private let plan: BurstPlan
    private let fleet: Fleet
    private let target: Target
    private let events: RunEvents
    /// The number of retries if the server refuses for a transient reason.
    var maxRetries = 50

    package struct Progress: Sendable {
        package let bursts: Int
        package let of: Int
        package let statistics: BurstStatistics
        /// The time since the start.
        package let elapsed: Duration
        package let totals: Totals

        /// The estimated time for the remaining bursts.
        package var left: Duration {
            self.bursts == 0 ? .zero : self.elapsed / self.bursts * (self.of - self.bursts)
        }
    }

    /// - Parameter events: Receives the attack's events and can end the attack.
    package init(_ plan: BurstPlan, of fleet: Fleet, at target: Target, events: RunEvents) {
        self.plan = plan
        self.fleet = fleet
        self.target = target
        self.events = events
    }

    /// Runs the attack until the end of its plan or until it is ended early; returns the measurements so far.
    ///
    /// - Parameter onProgress: Called about once a second.
    package func run(onProgress: @escaping @Sendable (Progress) -> Void) async throws(RunError) -> MeasuredRun {
        do { return try await self.measure(onProgress) } catch { throw RunError(error, at: self.target) }
    }

    private func measure(_ onProgress: @escaping @Sendable (Progress) -> Void) async throws -> MeasuredRun {
        let loadPlan = try self.plan.loadPlan()
        try ConnectionLimits.prepare(for: loadPlan)
        var run = try await RunContext(loadPlan, self.fleet, at: [self.target], events: self.events)
        try self.check(run.terms)
        var generator = PlanGenerator(seed: self.plan.seed)
        var queue = AttackQueue(count: self.fleet.count, using: &generator)
        var statistics = BurstStatistics(size: self.plan.size, attempts: run.policy.attemptsPerRound)
        run.clock = RunClock(wall: self.target.clock.now())
        let start = run.clock.wall(at: .zero)
        self.events.begin(run.clock)
        var log = IntervalCollector(recorder: run.recorder, connections: self.plan.connections)
        for number in 0..<self.plan.repetitions where self.events.endReason == nil {
            do {
                guard let result = try await self.burst(&run, &queue, &generator) else { break }
                statistics.add(result)
            } catch {
                log.take(at: run.clock.now, isLast: true)
                // Report the measurements so far and, most importantly, the violations.
                let error = RunError(error, at: self.target)
                guard statistics.hasBursts || log.totals.violations.count > 0, error.isOfServer else { throw error }
                self.events.note("the attack ended early: \(error)")
                self.events.end(.lost)
                break
            }
            guard log.take(at: run.clock.now, isLast: number == self.plan.repetitions - 1) else { continue }
            onProgress(
                Progress(
                    bursts: number + 1,
                    of: self.plan.repetitions,
                    statistics: statistics,
                    elapsed: run.clock.now,
                    totals: log.totals
                )
            )
        }
        log.take(at: run.clock.now, isLast: true)
        run.clock = run.clock.synchronized(with: self.target.clock.now())
        try run.finish()
        if queue.advanced > .zero {
            self.events.note("the lab's clock was advanced by \(queue.advanced), past the blocks")
        }
        if statistics.hasBursts { self.noteBlocks(under: run.policy) }
        self.events.add(statistics.section(self.plan))
        return self.events.measured(log.intervals, from: start, end: statistics.hasBursts ? .completed : .lost)
    }

    private func check(_ terms: ServerTerms) throws(PlanProblem) {
        let (wanted, most) = (self.plan.mostOnOneConnection, terms.limits.maxInFlight)
        guard wanted > most else { return }
        throw PlanProblem(
            place: "--attack",
            "\(wanted) calls at a time on one connection exceed the server's limit of \(most); use more connections"
        )
    }

    /// Sends a burst for the next wallet that can be attacked; returns nil if there are none left.
    private func burst(
        _ run: inout RunContext,
        _ queue: inout AttackQueue,
        _ generator: inout PlanGenerator
    ) async throws -> BurstResult? {
        var failures = 0
        while self.events.endReason == nil, let index = try await self.next(&queue) {
            do throws(FleetFailure) {
                // The lab's clock may have been advanced since the last burst.
                run.clock = run.clock.synchronized(with: self.target.clock.now())
                let wallet = try run.histories.open(index)
                let context = run
                defer {
                    do throws(FleetFailure) {
                        try context.histories.close(wallet, at: context.serverTime)
                    } catch {
                        _ = context.outcome(of: error)
                    }
                }
                let burst = Burst(run: run, plan: self.plan, wallet: wallet)
                switch try await burst.prepare() {
                case .never: continue
                case .blocked(let remaining):
                    queue.append(index, blockedUntil: run.serverTime + remaining)
                    continue
                case .ready(let session):
                    let result = try await burst.send(from: session, using: &generator)
                    queue.append(index)
                    return result
                }
            } catch {
                guard self.events.endReason == nil else { return nil }
                if case .revoked = error {
                    self.events.note("revoked wallets were left out")
                    continue
                }
                failures += 1
                guard error.isTransient, failures <= self.maxRetries else { throw error }
                queue.append(index)
                await run.clock.sleep(until: run.clock.now + .milliseconds(200))
            }
        }
        return nil
    }

    /// Returns the next wallet.
    ///
    /// If all of them are blocked, advances a lab's clock past the blocks.
    private func next(_ queue: inout AttackQueue) async throws -> Int? {
        if let index = queue.take() { return index }
        guard let end = queue.lastEnd else {
            self.events.note("no wallet is left to attack: all are blocked permanently or revoked")
            return nil
        }
        guard let lab = self.target.lab else {
            self.events.note("all wallets are in a block; a fleet with more wallets allows more bursts")
            return nil
        }
        let duration = end - self.target.clock.now() + .seconds(1)
        if duration > .zero { try await LabTime.advance(lab, by: duration, at: self.target) }
        queue.release(after: max(.zero, duration))
        return queue.take()
    }

    /// Notes any blocks that would affect the next run with these wallets.
    private func noteBlocks(under policy: AttemptPolicy) {
        guard self.plan.size > policy.attemptsPerRound, let block = policy.blocks.first, block > .zero else { return }
        let seconds = (block.milliseconds + 1999) / 1000
        let remedy =
            self.target.lab.map { "run `remote-pin-server admin clock advance \(seconds)s --lab \($0.path)`" }
            ?? "wait for \(seconds) seconds"
        self.events.note(
            "the wallets attacked last are in a block: \(remedy) before the next run, or use another fleet"
        )
    }
}

extension RunError {
    /// Whether the error was caused by the server and not by this machine.
    fileprivate var isOfServer: Bool {
        switch self {
        case .server, .target: true
        case .plan, .fleet, .interrupted: false
        }
    }
}

/// The plan for an attack with bursts of guesses for one wallet, one of them right.
package struct BurstPlan: Hashable, Sendable {
    /// The number of guesses per burst.
    package var size: Int
    /// The number of connections per burst.
    ///
    /// If there are fewer connections than guesses, each connection carries several guesses in a single flight.
    package var connections: Int
    package var repetitions = 100
    /// The timeout for connecting and for each response.
    package var timeout: Duration = .seconds(10)
    package var seed: UInt64 = 1

    package static let allowedSizes = 2...10_000

    /// Parses `burst:64`, or `burst:64/4` for four connections with sixteen guesses each.
    package init(parsing text: String, place: String = "--attack") throws(PlanProblem) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "burst" else {
            throw PlanProblem(place: place, "`\(text)` is not an attack; `burst:64` sends 64 guesses at once")
        }
        let numbers = parts[1].split(separator: "/", omittingEmptySubsequences: false).map { CountText.readCount($0) }
        guard numbers.count <= 2, let first = numbers.first, let size = first, Self.allowedSizes.contains(size) else {
            throw PlanProblem(place: place, "`burst:` takes a number of guesses from 2 to 10k, as in `burst:64`")
        }
        guard numbers.count == 1 || (1...size).contains(numbers[1] ?? 0) else {
            throw PlanProblem(
                place: place,
                "the slash is followed by the number of connections, from 1 to the number of guesses: `burst:64/4`"
            )
        }
        self.size = size
        self.connections = numbers.count == 2 ? numbers[1] ?? size : size
    }

    /// The text form, as parsed by ``init(parsing:place:)``.
    package var text: String {
        self.connections == self.size ? "burst:\(self.size)" : "burst:\(self.size)/\(self.connections)"
    }

    package var entries: [(name: String, value: String)] {
        [
            ("attack", self.text), ("repeat", "\(self.repetitions)"), ("connections", "\(self.connections)"),
            ("timeout", DurationText.write(self.timeout)),
        ]
    }

    /// The largest number of guesses on one connection.
    package var mostOnOneConnection: Int { (self.size + self.connections - 1) / self.connections }

    func loadPlan() throws(PlanProblem) -> LoadPlan {
        var plan = LoadPlan(
            try Stages.constant(Double(self.connections), .connections, for: .seconds(1), place: "--attack")
        )
        plan.pick = .single(index: 0)
        plan.timeout = self.timeout
        plan.seed = self.seed
        return plan
    }
}

/// The wallets in an attack, in the order they can be attacked.
struct AttackQueue {
    private var ready: ArraySlice<Int>
    private var blocked: [(until: Timestamp, index: Int)] = []
    /// The total time by which a lab's clock was advanced to get past their blocks.
    private(set) var advanced = Duration.zero

    /// Creates a queue of all wallets, in random order.
    init(count: Int, using generator: inout PlanGenerator) {
        self.ready = (0..<count).shuffled(using: &generator)[...]
    }

    /// Takes the ready wallet that was attacked least recently.
    mutating func take() -> Int? { self.ready.popFirst() }

    mutating func append(_ index: Int) { self.ready.append(index) }

    mutating func append(_ index: Int, blockedUntil end: Timestamp) { self.blocked.append((end, index)) }

    /// The end of the last block, or nil if no wallet is blocked.
    var lastEnd: Timestamp? { self.blocked.map(\.until).max() }

    /// Makes all blocked wallets ready, after the clock was advanced past their blocks.
    mutating func release(after duration: Duration) {
        self.advanced += duration
        self.ready += self.blocked.map(\.index)
        self.blocked = []
    }
}

/// Collects an attack's measurements about once a second.
struct IntervalCollector {
    let recorder: Recorder
    let connections: Int
    private(set) var intervals: [Interval] = []
    private(set) var totals = Totals()
    private var last = Duration.zero

    init(recorder: Recorder, connections: Int) {
        self.recorder = recorder
        self.connections = connections
    }

    /// Ends the current interval if it is long enough; returns whether it did.
    @discardableResult
    mutating func take(at now: Duration, isLast: Bool) -> Bool {
        guard now > self.last, isLast || now - self.last >= .seconds(1) else { return false }
        let gauges = Gauges(connections: self.connections)
        let interval = self.recorder.takeInterval(from: self.last, to: now, gauges: gauges)
        self.last = now
        self.totals.add(interval)
        self.intervals.append(interval)
        return true
    }
}

/// Advances a lab's clock while its server is running.
enum LabTime {
    private static let patience: Duration = .seconds(30)

    private struct Reply: Decodable {
        let now: Timestamp
    }

    /// Asks the server to advance the clock; only the server may write the clock file while it is running.
    static func advance(_ lab: LabFolder, by duration: Duration, at target: Target) async throws(RunError) {
        let socket = try mapError(lab.adminSocket()) { (error: LabError) in RunError.target(.lab(error)) }
        let failure: FleetFailure
        do {
            let connection = try await AdminConnection.connect(path: socket, timeout: Self.patience)
            defer { connection.close() }
            let _: Reply = try await connection.call(
                "clock advance",
                ["byMs": duration.milliseconds],
                timeout: Self.patience
            )
            return
        } catch let error as ConnectError {
            failure = .connect(error)
        } catch AdminCallError.connection(let error) {
            failure = .call(error)
        } catch {
            failure = .unexpectedAnswer
        }
        throw .server(failure, address: socket)
    }
}
