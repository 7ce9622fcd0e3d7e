package import Logging
package import Metrics
internal import ServiceLifecycle

/// Keeps a witness informed about a store, and consults it before the store is served.
///
///     start: stored numbers ─▶ witness is not ahead ─▶ step raised by one ─▶ listen
///     while serving, at most once in an interval, and at the stop: step raised by one, generation ─▶ witness
///
/// Invariant: a step is durably stored before it is sent to the witness. If the witness is ahead of the store, the
/// store is therefore an older copy.
package struct WitnessKeeper: Sendable {
    private let witness: Witness
    /// Whether the server refuses to start if the witness does not answer.
    private let isRequired: Bool
    /// The minimum time between two requests while the server is running.
    private let interval: Duration
    /// Returns the store's generation.
    private let generation: @Sendable () -> UInt64
    /// Returns the stored step.
    private let step: @Sendable () async throws -> UInt64
    /// Durably raises the stored step and returns the new one.
    private let raiseStep: @Sendable () async throws -> UInt64
    private let log: Logger
    private let meters: WitnessMeters

    package init(
        witness: Witness,
        isRequired: Bool,
        interval: Duration,
        generation: @escaping @Sendable () -> UInt64,
        step: @escaping @Sendable () async throws -> UInt64,
        raiseStep: @escaping @Sendable () async throws -> UInt64,
        log: Logger,
        meters: WitnessMeters
    ) {
        self.witness = witness
        self.isRequired = isRequired
        self.interval = interval
        self.generation = generation
        self.step = step
        self.raiseStep = raiseStep
        self.log = log
        self.meters = meters
    }

    /// Asks the witness whether the store is an older copy.
    ///
    /// Must be called before the server listens.
    package func start() async throws(WitnessFailure) {
        do {
            // Ask before raising the step, so that a store that is one step behind is detected.
            try await self.ask(with: try await self.step())
            try await self.ask(with: try await self.raiseStep())
        } catch let error as WitnessFailure {
            throw error
        } catch {
            guard !self.isRequired else { throw .silent("\(error)") }
            self.log.error(
                "the witness does not answer; an older copy of the store would not be detected",
                metadata: ["reason": "\(error)"]
            )
        }
    }

    /// Informs the witness about each new generation until graceful shutdown or cancellation, and then one last time.
    package func run() async {
        await cancelWhenGracefulShutdown {
            var last = self.generation()
            while (try? await Task.sleep(for: self.interval)) != nil {
                guard self.generation() != last else { continue }
                last = await self.inform() ?? last
            }
        }
        await self.inform()
    }

    /// Informs the witness and returns the store's generation, or nil if the witness did not answer.
    ///
    /// A failure does not stop a running server, which tries again after the next interval.
    @discardableResult
    private func inform() async -> UInt64? {
        do {
            let step = try await self.raiseStep()
            // Raising the step is also a commit, but it must not cause another request.
            let generation = self.generation()
            try await self.ask(with: step)
            return generation
        } catch let error as WitnessFailure {
            self.log.critical("the witness knows a later state of the store", metadata: ["reason": "\(error)"])
            // The witness has answered, and would answer the same again.
            return self.generation()
        } catch {
            self.log.error("the witness does not answer", metadata: ["reason": "\(error)"])
            return nil
        }
    }

    private func ask(with step: UInt64) async throws {
        let numbers = WitnessNumbers(generation: self.generation(), step: step)
        let record: WitnessRecord
        do throws(WitnessSilence) {
            record = try await self.witness.note(numbers)
        } catch {
            self.meters.silent.increment()
            throw error
        }
        guard !record.isAhead(of: numbers) else {
            self.meters.ahead.increment()
            throw WitnessFailure.ahead(record, of: numbers)
        }
        self.meters.noted.increment()
    }
}

/// Counters for witness requests.
///
/// A server without a witness also exports them.
package struct WitnessMeters: Sendable {
    let noted: Counter
    let silent: Counter
    let ahead: Counter

    package init(_ factory: any MetricsFactory) {
        func counter(_ outcome: String) -> Counter {
            Counter(label: "remote_pin_witness_requests_total", dimensions: [("outcome", outcome)], factory: factory)
        }
        (self.noted, self.silent, self.ahead) = (counter("noted"), counter("silent"), counter("ahead"))
    }
}

/// A reason why a server does not start with its witness.
package enum WitnessFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The witness has seen a later state, so the store is an older copy.
    ///
    /// An operator must restore a backup.
    case ahead(WitnessRecord, of: WitnessNumbers)
    /// The witness did not answer.
    ///
    /// Repair it.
    case silent(String)

    package var description: String {
        switch self {
        case .ahead(let record, let numbers):
            "the witness has \(record) on record, but the store has \(numbers): the store is an older copy"
        case .silent(let reason):
            "the witness does not answer: \(reason). Repair it, or set `witness.required` to false to start without it"
        }
    }
}
