internal import Vocabulary

/// Searches for an order of the operations using Wing and Gong's algorithm.
///
/// The next operation in the order must be one that began before any unplaced operation ended.
extension WalletHistory {
    private enum Step {
        /// No operation can be placed until another response arrives.
        case waits
        /// One more operation can be placed, in these ways.
        case places([Possibility])
        /// No order explains this operation's response, or no operation exists for this number.
        case contradiction(SentOperation, missing: UInt64?)
    }

    /// Places each response whose predecessors are all known.
    ///
    /// Returns a violation if no order explains one of them.
    mutating func settle() -> HistoryViolation? {
        while true {
            var next: [Possibility] = []
            var found: (operation: SentOperation, missing: UInt64?)?
            var isFinished = true
            for possibility in self.possibilities {
                self.visitCount += 1 + self.backlog.operations.count + self.lost.count + self.inFlight.count
                switch self.step(possibility) {
                case .waits: next.append(possibility)
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
            self.possibilities = next.count > 1 ? Array(Set(next)) : next
            guard self.possibilities.count <= Self.maxPossibilities else {
                self.overflow()
                return nil
            }
            self.backlog.removePlaced(in: &self.possibilities)
            if isFinished { break }
        }
        self.forget()
        return nil
    }

    private func step(_ possibility: Possibility) -> Step {
        // The operation that ended first. All operations before it in the order began before it ended.
        var first: SentOperation?
        for operation in self.backlog.operations {
            if let first, operation.began > first.ended { break }
            guard !possibility.hasPlaced(operation) else { continue }
            if first.map({ operation.ended < $0.ended }) ?? true { first = operation }
        }
        guard let first else { return .waits }
        // An operation in flight may have to be placed first.
        if let oldest = self.inFlight.first, oldest.began < first.ended { return .waits }
        var ways: [Possibility] = []
        var isPlaced = false
        for operation in self.backlog.operations {
            guard operation.began <= first.ended else { break }
            guard !operation.isJudged, !possibility.hasPlaced(operation),
                operation.place.map({ $0.number == possibility.number }) ?? true,
                let state = possibility.state.following(operation, self.rules)
            else { continue }
            ways.append(possibility.placing(operation, state))
            // A response that does not change the state can be placed as early as possible without losing anything.
            isPlaced = state == possibility.state
            if isPlaced { break }
        }
        let following = possibility.number.flatMap { self.backlog.judged($0 + 1) }
        if !isPlaced { ways += self.ways(toNumber: possibility, following, before: first) }
        if following == nil { ways += self.ways(toTakeLost: possibility, before: first) }
        guard ways.isEmpty else { return .places(ways) }
        let isGap = following == nil && (first.place?.number ?? 0) > possibility.number ?? .max
        let missing = isGap ? possibility.number.map { $0 + 1 } : nil
        let next = following.flatMap { $0.began < first.ended ? $0 : nil }
        return .contradiction(next ?? first, missing: missing)
    }

    /// Returns the ways to place the attempt with the next number, or to assume a first number.
    private func ways(
        toNumber possibility: Possibility,
        _ following: SentOperation?,
        before first: SentOperation
    ) -> [Possibility] {
        guard possibility.number != nil else {
            var known = possibility
            for operation in self.backlog.operations {
                guard operation.began <= first.ended else { break }
                guard let place = operation.place else { continue }
                let number = place.isJudged ? place.number &- 1 : place.number
                known.number = min(known.number ?? .max, number)
            }
            return known.number == nil ? [] : [known]
        }
        guard let following, following.began <= first.ended,
            let state = possibility.state.following(following, self.rules)
        else { return [] }
        return [possibility.placing(following, state)]
    }

    /// Returns the ways to place a lost operation next.
    ///
    /// Of several interchangeable operations, only the first to expire is used.
    private func ways(toTakeLost possibility: Possibility, before first: SentOperation? = nil) -> [Possibility] {
        var candidates: [OperationClass: (lost: SentOperation, window: Window)] = [:]
        for lost in self.lost where possibility.mayTake(lost, before: first?.ended ?? .max) {
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
            possibility.state.judging(lost.operation, by: lost.attempt, in: window, self.rules)
                .map { possibility.taking(lost, $0.state) }
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

    /// Drops details that can no longer matter, so that possibilities differing only in these details become equal.
    private mutating func forget() {
        let isPlain = self.lost.isEmpty && self.possibilities.count == 1
        if isPlain, self.possibilities[0].used.isEmpty { return }
        self.lost.removeAll { lost in !self.possibilities.contains { $0.mayTake(lost, before: .max) } }
        let ids = Set(self.lost.map(\.id))
        for index in self.possibilities.indices {
            self.possibilities[index].used.formIntersection(ids)
            if ids.isEmpty { self.possibilities[index].latest = 0 }
        }
        guard self.possibilities.count > 1 else { return }
        self.possibilities = self.inFlight.isEmpty ? Self.merged(self.possibilities) : Array(Set(self.possibilities))
    }

    /// Merges possibilities that differ only in the end of a block.
    ///
    /// The span of the result covers all of them.
    private static func merged(_ possibilities: [Possibility]) -> [Possibility] {
        var merged: Set<Possibility> = []
        var blocks: [Possibility: BlockSpan] = [:]
        for possibility in possibilities {
            guard let block = possibility.state.block else {
                merged.insert(possibility)
                continue
            }
            var other = possibility
            other.state.block = nil
            blocks[other] = blocks[other]?.hull(with: block) ?? block
        }
        for (possibility, block) in blocks {
            var blocked = possibility
            blocked.state.block = block
            merged.insert(blocked)
        }
        return Array(merged)
    }

    /// All possibilities, with any number of lost operations judged.
    var outcomes: [Possibility] {
        var (all, queue) = (Set(self.possibilities), self.possibilities)
        while let possibility = queue.popLast(), all.count <= Self.maxPossibilities {
            for next in self.ways(toTakeLost: possibility) where all.insert(next).inserted { queue.append(next) }
        }
        return all.count <= Self.maxPossibilities ? Array(all) : ModelState.all(self.rules).map { Possibility($0) }
    }
}
