internal import Vocabulary

/// A wallet's history while several operations are pending or its state is not fully known.
///
/// Holds every linearization of the operations that explains all responses so far. A response that none of them
/// explains is a violation. Operations are ordered only when a response requires it; until then they may have been
/// judged later.
struct ConcurrentHistory: Sendable {
    let rules: CheckerRules
    /// Operations without a response by their ids, including the lost ones.
    var pending: [Int: PendingOperation] = [:]
    /// The pending operations by class; the index of a group without operations is reused.
    private(set) var groups: [PendingGroup] = []
    var linearizations: Set<Linearization>
    /// The place of the next operation.
    var order = 1
    /// The number of times that there were too many linearizations, so that the state was reset to unknown.
    var overflowCount = 0
    /// True from the moment that there are too many linearizations until the state is reset.
    var isOverflowing = false

    /// The largest number of linearizations; beyond it the state is reset to unknown.
    static let maxLinearizations = 512

    init(_ states: [ModelState], _ rules: CheckerRules) {
        self.rules = rules
        self.linearizations = Set(states.map { Linearization($0) })
    }

    /// The wallet's state, if it is the only possible one and no operation is pending.
    var settled: ModelState? {
        guard self.pending.isEmpty, self.linearizations.count == 1 else { return nil }
        return self.linearizations.first?.state
    }

    mutating func invoke(_ id: Int, _ operation: WalletOperation, attempt: Int, at now: Int64) {
        let place = self.order
        self.order += 1
        let isFirst = self.pending.isEmpty
        for other in self.pending.values where other.isAlone { self.pending[other.id]?.isAlone = false }
        var invoked = PendingOperation(id: id, attempt: attempt, operation: operation, sent: now, order: place)
        invoked.isAlone = isFirst
        if attempt != id {
            for other in self.pending.values where other.attempt == attempt && !other.isRepeated {
                self.separate(other)
            }
            invoked.isRepeated = true
        }
        self.add(invoked)
    }

    mutating func add(_ operation: PendingOperation) {
        self.pending[operation.id] = operation
        self.order = max(self.order, operation.order + 1)
        let operationClass = OperationClass(operation)
        if let index = self.group(of: operationClass) {
            self.groups[index].insert(operation)
            return
        }
        var new = PendingGroup(operationClass: operationClass)
        new.insert(operation)
        if let free = self.groups.firstIndex(where: \.all.isEmpty) {
            self.groups[free] = new
        } else {
            self.groups.append(new)
        }
    }

    mutating func remove(_ operation: PendingOperation) {
        self.pending[operation.id] = nil
        if let index = self.group(of: OperationClass(operation)) { self.groups[index].remove(operation) }
    }

    /// The index of the group of a class that has, or just had, a pending operation.
    func group(of operationClass: OperationClass) -> Int? {
        self.groups.firstIndex { $0.operationClass == operationClass }
    }

    /// Moves an operation to a separate class, because its attempt is sent again.
    ///
    /// Each pending verdict of its former class may have been its verdict.
    private mutating func separate(_ operation: PendingOperation) {
        let old = self.group(of: OperationClass(operation))
        var repeated = operation
        repeated.isRepeated = true
        // Added before it is removed: an empty group's index must not be reused while verdicts refer to it.
        self.add(repeated)
        let new = self.group(of: OperationClass(repeated))
        if let old { self.groups[old].remove(operation) }
        guard let old, let new else { return }
        var next: Set<Linearization> = []
        for linearization in self.linearizations {
            self.keep(linearization, in: &next)
            for (index, verdict) in linearization.pendingVerdicts.enumerated()
            where verdict.group == old && verdict.judgedBefore > operation.order {
                var own = linearization.assigning(index, to: repeated)
                own.pendingVerdicts.append(
                    Linearization.PendingVerdict(
                        group: new,
                        verdict: verdict.verdict,
                        judgedBefore: verdict.judgedBefore
                    )
                )
                self.keep(own, in: &next)
            }
        }
        self.linearizations = next
    }

    /// Returns true if each pending verdict can be assigned to a separate operation.
    ///
    /// Operations sent before one verdict were also sent before all later ones, so counting is sufficient.
    func isFeasible(_ linearization: Linearization) -> Bool {
        guard !linearization.pendingVerdicts.isEmpty else { return true }
        var counts = [Int](repeating: 0, count: self.groups.count)
        for verdict in linearization.pendingVerdicts {
            let places = self.groups[verdict.group].all
            let taken = counts[verdict.group]
            guard taken < places.count, places[taken] < verdict.judgedBefore else { return false }
            counts[verdict.group] = taken + 1
        }
        return true
    }

    func window(of operation: PendingOperation, until now: Int64) -> Window {
        Window(
            from: operation.sent,
            until: now,
            oldest: self.pending.values.reduce(operation.sent) { min($0, $1.sent) }
        )
    }
}

extension ConcurrentHistory {
    /// Records a response; returns a violation if no linearization explains it.
    mutating func complete(_ id: Int, _ response: WalletResponse, at now: Int64) -> HistoryViolation? {
        guard let sent = self.pending[id] else { return .answerToAnotherQuestion }
        let window = self.window(of: sent, until: now)
        let before = self.linearizations
        self.remove(sent)
        self.order += 1
        self.linearizations = self.explanations(of: response, to: sent, in: window, among: before)
        func violation() -> HistoryViolation {
            HistoryViolation(response, to: sent, in: window, among: before.map(\.state), self.rules)
        }
        if self.isOverflowing {
            self.tidy()
            return sent.allows(response) ? nil : violation()
        }
        guard self.linearizations.isEmpty else {
            self.tidy()
            return nil
        }
        let found = violation()
        self.adopt(response, of: sent, in: window)
        self.tidy()
        return found
    }

    /// All linearizations in which an operation has this response.
    private mutating func explanations(
        of response: WalletResponse,
        to sent: PendingOperation,
        in window: Window,
        among linearizations: Set<Linearization>
    ) -> Set<Linearization> {
        var next: Set<Linearization> = []
        for linearization in linearizations {
            if sent.predatesReset, sent.allows(response) { self.keep(linearization, in: &next) }
            if case .verdict(let verdict) = response {
                let (group, code) = (self.group(of: OperationClass(sent)), VerdictCode(verdict))
                for (index, pending) in linearization.pendingVerdicts.enumerated()
                where pending.group == group && pending.verdict == code && pending.judgedBefore > sent.order {
                    self.keep(linearization.assigning(index, to: sent), in: &next)
                }
            }
            for (state, endedBefore) in linearization.past where endedBefore > sent.order {
                if state.admits(response, to: sent, in: window, isExact: false, self.rules) != nil {
                    self.keep(linearization, in: &next)
                }
            }
            self.explore(linearization, sent, in: window, response: response, into: &next)
        }
        return next
    }

    /// Inserts a linearization if it has an operation for each pending verdict.
    func keep(_ linearization: Linearization, in next: inout Set<Linearization>) {
        if self.isFeasible(linearization) { next.insert(linearization) }
    }

    /// Judges pending operations in every order that may matter, and `sent` after them.
    ///
    /// - Parameter response: the server's response; nil if it was lost, so that any verdict is possible.
    mutating func explore(
        _ start: Linearization,
        _ sent: PendingOperation,
        in window: Window,
        response: WalletResponse?,
        into next: inout Set<Linearization>
    ) {
        let observers = PendingObservers(self.groups)
        var (queue, place, seen) = ([start], 0, Set<Linearization>())
        var fewest: [Linearization: [[Linearization.PendingVerdict]]] = [:]
        while place < queue.count {
            let linearization = queue[place]
            place += 1
            self.isOverflowing =
                self.isOverflowing || queue.count > Self.maxLinearizations || next.count > Self.maxLinearizations
            guard !self.isOverflowing else { return }
            let state = linearization.state
            if let response,
                let state = state.admits(response, to: sent, in: window, isExact: sent.isAlone, self.rules)
            {
                var admitted = linearization
                admitted.state = state
                self.keep(admitted, in: &next)
            }
            let judged = state.judging(sent.operation, by: .attempt(sent.attempt), in: window, self.rules)
            if let judged, response == nil || response == .verdict(judged.verdict) {
                self.keep(
                    linearization.advanced(to: judged.state, order: self.order, observers: observers),
                    in: &next
                )
            }
            for group in self.groups.indices {
                guard let advanced = self.judging(group, in: linearization, window, observers: observers),
                    seen.insert(advanced).inserted, Self.isUndominated(advanced, among: &fewest)
                else { continue }
                queue.append(advanced)
            }
        }
    }

    /// Judges any operation of a group; nil if none is left, or if it would change nothing.
    private func judging(
        _ index: Int,
        in linearization: Linearization,
        _ window: Window,
        observers: PendingObservers
    ) -> Linearization? {
        let (taken, group) = (linearization.pendingVerdicts.count { $0.group == index }, self.groups[index])
        guard taken < group.all.count else { return nil }
        let (operation, attempt) = (group.operationClass.operation, group.operationClass.attempt)
        let origin: ModelState.LastWrong = attempt.map { .attempt($0) } ?? .event(1)
        guard let (state, verdict) = linearization.state.judging(operation, by: origin, in: window, self.rules),
            state != linearization.state || state.lastWrong == .event(1)
        else { return nil }
        var advanced = linearization.advanced(to: state, order: self.order, observers: observers)
        advanced.pendingVerdicts.append(
            Linearization.PendingVerdict(
                group: index,
                verdict: group.live.isEmpty ? nil : VerdictCode(verdict),
                judgedBefore: self.order,
                event: state.lastWrong == .event(1) ? 1 : 0
            )
        )
        return advanced
    }

    /// Returns false if another linearization explains as much and has used fewer of the lost operations.
    static func isUndominated(
        _ linearization: Linearization,
        among fewest: inout [Linearization: [[Linearization.PendingVerdict]]]
    ) -> Bool {
        let (essence, unreported) = (linearization.essence, linearization.unreported)
        let known = fewest[essence, default: []]
        guard !known.contains(where: { $0.allSatisfy(unreported.contains) && $0.count <= unreported.count }) else {
            return false
        }
        fewest[essence, default: []].append(unreported)
        return true
    }
}
