internal import Vocabulary

extension ConcurrentHistory {
    /// Records that a response will not arrive; the operation may still be judged until the given time.
    mutating func lose(_ id: Int, until: Int64) {
        guard var lost = self.pending[id] else { return }
        self.remove(lost)
        lost.lostUntil = until
        lost.isAlone = false
        self.add(lost)
    }

    /// Removes lost operations that can no longer take effect: each was judged at some point, or never.
    mutating func expire(at now: Int64) {
        self.expire { operation in operation.lostUntil.flatMap { $0 < now ? $0 : nil } }
    }

    /// Removes operations lost with a server process: each took effect before the process ended, or never will.
    mutating func serverEnded(by death: Int64) {
        self.expire { operation in
            operation.lostUntil.flatMap { operation.sent <= death ? min(death, $0) : nil }
        }
    }

    /// - Parameter end: the last moment at which an operation can have been judged; nil for one that is kept.
    private mutating func expire(_ end: (PendingOperation) -> Int64?) {
        let expired = self.pending.values.compactMap { operation in end(operation).map { (operation, $0) } }
        for (operation, end) in expired.sorted(by: { $0.0.order < $1.0.order }) {
            let window = self.window(of: operation, until: max(operation.sent, end))
            self.remove(operation)
            self.order += 1
            self.linearizations = self.outcomes(of: operation, in: window)
            self.tidy()
        }
    }

    /// The linearizations in which the lost operation had no effect, had one of the pending verdicts, or took effect
    /// after other operations.
    private mutating func outcomes(of lost: PendingOperation, in window: Window) -> Set<Linearization> {
        var next: Set<Linearization> = []
        let group = self.group(of: OperationClass(lost))
        for linearization in self.linearizations {
            self.keep(linearization, in: &next)
            for (index, pending) in linearization.pendingVerdicts.enumerated()
            where pending.group == group && pending.judgedBefore > lost.order {
                self.keep(linearization.assigning(index, to: lost), in: &next)
            }
            if lost.operation != .opening {
                self.explore(linearization, lost, in: window, response: nil, into: &next)
            }
        }
        return next
    }

    /// Drops details that no longer matter; resets the state to unknown if too many linearizations are left.
    mutating func tidy() {
        if self.isOverflowing || self.linearizations.count > Self.maxLinearizations {
            self.overflowCount += 1
            self.isOverflowing = false
            self.reset()
            return
        }
        let live = self.groups.flatMap(\.live).sorted()
        let observers = PendingObservers(self.groups)
        var next: Set<Linearization> = []
        for var linearization in self.linearizations {
            linearization.normalize(live: live, groups: self.groups, observers: observers)
            next.insert(linearization)
        }
        if next.count > 1 {
            var fewest: [Linearization: [[Linearization.PendingVerdict]]] = [:]
            next = Set(
                next.sorted { $0.pendingVerdicts.count < $1.pendingVerdicts.count }
                    .filter { Self.isUndominated($0, among: &fewest) }
            )
            if self.pending.isEmpty { next = Self.merged(next) }
        }
        self.linearizations = next
    }

    /// Merges states that differ only in a block's end into one with the hull of both spans.
    private static func merged(_ linearizations: Set<Linearization>) -> Set<Linearization> {
        var blocks: [ModelState: BlockSpan] = [:]
        var merged: Set<Linearization> = []
        for linearization in linearizations {
            guard let block = linearization.state.block else {
                merged.insert(linearization)
                continue
            }
            var state = linearization.state
            state.block = nil
            blocks[state] = blocks[state]?.hull(with: block) ?? block
        }
        for (state, block) in blocks {
            var state = state
            state.block = block
            merged.insert(Linearization(state))
        }
        return merged
    }

    /// Resets the state to unknown; a pending operation may then get any response and may still be judged.
    private mutating func reset() {
        for id in self.pending.keys {
            self.pending[id]?.predatesReset = true
            self.pending[id]?.isAlone = false
        }
        self.linearizations = Set(ModelState.all(self.rules).map { Linearization($0) })
    }

    /// Continues from the server's claim after a violation, so that one fault is reported once.
    mutating func adopt(_ response: WalletResponse, of sent: PendingOperation, in window: Window) {
        self.reset()
        let everything = self.linearizations
        var next: Set<Linearization> = []
        // A right PIN that was called wrong was counted as a wrong one, and the reverse.
        for operation in [sent.operation, sent.operation.reversed] where next.isEmpty {
            let claimed = PendingOperation(
                id: sent.id,
                attempt: sent.attempt,
                operation: operation,
                sent: sent.sent,
                order: sent.order,
                isAlone: false
            )
            for linearization in everything {
                self.explore(linearization, claimed, in: window, response: response, into: &next)
            }
        }
        self.linearizations = next.isEmpty ? everything : next
    }
}
