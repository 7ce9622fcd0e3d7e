internal import Vocabulary

/// Searches for an order of the operations using Wing and Gong's algorithm.
///
/// The next operation in the order must be one that began before any unplaced operation ended.
extension WalletHistory {
    private enum Step {
        /// No operation can be placed until another response arrives.
        case waits
        /// One more operation can be placed, in these ways.
        case places([Linearization])
        /// No order explains this operation's response, or no operation exists for this number.
        case contradiction(SentOperation, missing: UInt64?)
    }

    /// Places each response whose predecessors are all known.
    ///
    /// Returns a violation if no order explains one of them.
    mutating func settle() -> HistoryViolation? {
        while true {
            var next: [Linearization] = []
            var found: (operation: SentOperation, missing: UInt64?)?
            var isFinished = true
            for linearization in self.linearizations {
                self.visitCount += 1 + self.backlog.operations.count + self.lost.count + self.inFlight.count
                switch self.step(linearization) {
                case .waits: next.append(linearization)
                case .places(let ways):
                    next += ways
                    isFinished = false
                case .contradiction(let operation, let missing):
                    if found.map({ $0.operation.began < operation.began }) ?? true { found = (operation, missing) }
                }
            }
            if next.isEmpty, let found {
                let violation =
                    found.missing.map { HistoryViolation.unexplainedAttempt(number: $0) }
                    ?? self.violation(by: found.operation)
                self.continueAfter(found.operation)
                return violation
            }
            self.linearizations = next.count > 1 ? Array(Set(next)) : next
            guard self.linearizations.count <= Self.maxLinearizations else {
                self.overflow()
                return nil
            }
            self.backlog.removePlaced(in: &self.linearizations)
            if isFinished { break }
        }
        self.forget()
        return nil
    }

    private func step(_ linearization: Linearization) -> Step {
        // The operation that ended first. All operations before it in the order began before it ended.
        var first: SentOperation?
        for operation in self.backlog.operations {
            if let first, operation.began > first.ended { break }
            guard !linearization.hasPlaced(operation) else { continue }
            if first.map({ operation.ended < $0.ended }) ?? true { first = operation }
        }
        guard let first else { return .waits }
        // An operation in flight may have to be placed first.
        if let oldest = self.inFlight.first, oldest.began < first.ended { return .waits }
        var ways: [Linearization] = []
        var isPlaced = false
        for operation in self.backlog.operations {
            guard operation.began <= first.ended else { break }
            guard !operation.isJudged, !linearization.hasPlaced(operation),
                operation.place.map({ $0.number == linearization.number }) ?? true,
                let state = linearization.state.following(operation, self.rules)
            else { continue }
            ways.append(linearization.placing(operation, state))
            // A response that does not change the state can be placed as early as possible without losing anything.
            isPlaced = state == linearization.state
            if isPlaced { break }
        }
        let following = linearization.number.flatMap { self.backlog.judged($0 + 1) }
        if !isPlaced { ways += self.ways(toNumber: linearization, following, before: first) }
        if following == nil { ways += self.ways(toTakeLost: linearization, before: first) }
        guard ways.isEmpty else { return .places(ways) }
        let isGap = following == nil && (first.place?.number ?? 0) > linearization.number ?? .max
        let missing = isGap ? linearization.number.map { $0 + 1 } : nil
        let next = following.flatMap { $0.began < first.ended ? $0 : nil }
        return .contradiction(next ?? first, missing: missing)
    }

    /// Returns the ways to place the attempt with the next number, or to assume a first number.
    private func ways(
        toNumber linearization: Linearization,
        _ following: SentOperation?,
        before first: SentOperation
    ) -> [Linearization] {
        guard linearization.number != nil else {
            var known = linearization
            for operation in self.backlog.operations {
                guard operation.began <= first.ended else { break }
                guard let place = operation.place else { continue }
                let number = place.isJudged ? place.number &- 1 : place.number
                known.number = min(known.number ?? .max, number)
            }
            return known.number == nil ? [] : [known]
        }
        guard let following, following.began <= first.ended,
            let state = linearization.state.following(following, self.rules)
        else { return [] }
        return [linearization.placing(following, state)]
    }

    /// Returns the ways to place a lost operation next.
    ///
    /// Of several interchangeable operations, only the first to expire is used.
    private func ways(toTakeLost linearization: Linearization, before first: SentOperation? = nil) -> [Linearization] {
        var candidates: [OperationClass: (lost: SentOperation, window: Window)] = [:]
        for lost in self.lost where linearization.mayTake(lost, before: first?.ended ?? .max) {
            let window = lost.window(until: first?.until ?? .max)
            guard let known = candidates[OperationClass(lost)] else {
                candidates[OperationClass(lost)] = (lost, window)
                continue
            }
            let isFirst = (lost.ended, lost.began) < (known.lost.ended, known.lost.began)
            // Any of them may have started a block or been rejected because of one, each at a different time.
            candidates[OperationClass(lost)] = (isFirst ? lost : known.lost, known.window.hull(with: window))
        }
        return candidates.values.compactMap { lost, window in
            linearization.state.judging(lost.operation, by: lost.attempt, in: window, self.rules)
                .map { linearization.taking(lost, $0.state) }
        }
    }

    /// Operations that the server cannot tell apart.
    private struct OperationClass: Hashable {
        let operation: WalletOperation
        /// Only set if the attempt was repeated, because the server counts a repeated attempt only once.
        let attempt: Int?

        init(_ sent: SentOperation) {
            self.operation = sent.operation
            self.attempt = sent.isRepeated ? sent.attempt : nil
        }
    }

    /// Drops details that can no longer matter, so that linearizations differing only in these details become equal.
    private mutating func forget() {
        let isPlain = self.lost.isEmpty && self.linearizations.count == 1
        if isPlain, self.linearizations[0].used.isEmpty { return }
        self.lost.removeAll { lost in !self.linearizations.contains { $0.mayTake(lost, before: .max) } }
        let ids = Set(self.lost.map(\.id))
        for index in self.linearizations.indices {
            self.linearizations[index].used.formIntersection(ids)
            if ids.isEmpty { self.linearizations[index].latest = 0 }
        }
        guard self.linearizations.count > 1 else { return }
        self.linearizations = self.inFlight.isEmpty ? Self.merged(self.linearizations) : Array(Set(self.linearizations))
    }

    /// Merges linearizations that differ only in the end of a block.
    ///
    /// The span of the result covers all of them.
    private static func merged(_ linearizations: [Linearization]) -> [Linearization] {
        var merged: Set<Linearization> = []
        var blocks: [Linearization: BlockSpan] = [:]
        for linearization in linearizations {
            guard let block = linearization.state.block else {
                merged.insert(linearization)
                continue
            }
            var other = linearization
            other.state.block = nil
            blocks[other] = blocks[other]?.hull(with: block) ?? block
        }
        for (linearization, block) in blocks {
            var blocked = linearization
            blocked.state.block = block
            merged.insert(blocked)
        }
        return Array(merged)
    }

    /// All linearizations, with any number of lost operations judged.
    var outcomes: [Linearization] {
        var (all, queue) = (Set(self.linearizations), self.linearizations)
        while let linearization = queue.popLast(), all.count <= Self.maxLinearizations {
            for next in self.ways(toTakeLost: linearization) where all.insert(next).inserted { queue.append(next) }
        }
        return all.count <= Self.maxLinearizations ? Array(all) : ModelState.all(self.rules).map { Linearization($0) }
    }
}
