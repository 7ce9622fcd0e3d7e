internal import PINPolicy
internal import Vocabulary
internal import WalletStore

/// A violated invariant.
struct Violation: Error {
    let text: String
    /// Whether a client or an operator of a lab can see the violation.
    var isVisible = true
}

/// The steps that a state allows, and the invariants that each of them keeps.
///
/// The decisions are the server's and the store's: ``ServerRuns`` and ``StoredRows``. Here stand the order of events,
/// which is free, and the semantics of two databases: a commit returns once the standby has it.
struct Transitions {
    var bounds: Bounds
    let runs: ServerRuns
    let rows: StoredRows

    /// The third connection, which belongs to a client with the deletion code or stands for an operator's command.
    static let revoking = 2
    /// The connections, followed by those that were cut while their call waited.
    static let connections = 0...5

    /// The client of a connection.
    static func client(of connection: Int) -> Int { connection % 3 }

    /// The place of a client's connection after it was cut.
    static func cut(_ client: Int) -> Int { client + 3 }

    /// The place of a connection among those whose messages and sealed values differ.
    func place(of connection: Int) -> Int {
        let client = Self.client(of: connection)
        return self.bounds.areClientsAlike && client == 1 ? 0 : client
    }

    /// The server of a connection.
    func server(of connection: Int) -> Int { Self.client(of: connection) == 1 && self.bounds.servers == 2 ? 1 : 0 }

    /// Returns the representative of the states that differ from this one only in which of two alike clients is which.
    func canonical(_ state: State) -> (state: State, isSwapped: Bool) {
        guard self.bounds.areClientsAlike,
            state.first == state.second
                ? state.secondCut.precedes(state.firstCut) : state.second.precedes(state.first)
        else { return (state, false) }
        var swapped = state
        (swapped.first, swapped.second) = (state.second, state.first)
        (swapped.firstCut, swapped.secondCut) = (state.secondCut, state.firstCut)
        return (swapped, true)
    }

    /// Returns the steps that may come next.
    func actions(in state: State) -> [Action] {
        var actions: [Action] = []
        for connection in Self.connections { self.addActions(of: connection, in: state, to: &actions) }
        if state.isBehind {
            actions.append(.replicate)
            if state.failovers < self.bounds.failovers {
                actions += [.failOver(keepsCommit: false), .failOver(keepsCommit: true)]
            }
        }
        if state.waiting >= 0, state.cancellations < self.bounds.cancellations { actions.append(.cancelWait) }
        if state.crashes < self.bounds.crashes {
            for server in 0..<Int(self.bounds.servers) where self.isUsed(server, in: state) {
                actions.append(.crash(server))
            }
        }
        if state.restores < self.bounds.restores {
            actions.append(state.backup == nil ? .backUp : .restore)
        }
        if state.clockSteps < self.bounds.clockSteps { actions += [.setClock(1), .setClock(-1)] }
        return self.bounds.isPlayable ? actions.filter { self.canPlay($0, in: state) } : actions
    }

    private func isUsed(_ server: Int, in state: State) -> Bool {
        Self.connections.contains { self.server(of: $0) == server && state[$0].node >= 0 }
    }

    private func addActions(of number: Int, in state: State, to actions: inout [Action]) {
        let connection = state[number]
        if connection.node < 0 {
            if number > Self.revoking { return }
            if number == Self.revoking {
                if state.commands < self.bounds.commands { actions.append(.send(number, .command)) }
                if state.revocations < self.bounds.revocations { actions.append(.send(number, .revoke)) }
            } else if state.sessions < self.bounds.sessions {
                actions.append(.send(number, .openSession))
            }
            return
        }
        if connection.hasAnswer {
            actions += [.deliver(number), .lose(number)]
            return
        }
        let node = self.runs[connection.node]
        if node.finding.operation != nil, self.mayBeCut(number, in: state) { actions.append(.cut(number)) }
        if connection.reply >= 0 {
            if state.waiting != number { actions.append(.proceed(number)) }
            return
        }
        if node.finding.operation != nil {
            if state.waiting < 0 { actions.append(.step(number)) }
            return
        }
        guard number < Self.revoking, state.messages < self.bounds.messages else { return }
        self.addInstructions(on: number, counter: node.nextCounter, in: state, to: &actions)
    }

    /// Returns whether the client's connection may be cut.
    ///
    /// An operator's command has no connection that could be cut.
    private func mayBeCut(_ number: Int, in state: State) -> Bool {
        guard number <= Self.revoking, state.cuts < self.bounds.cuts else { return false }
        return state[Self.cut(number)].node < 0 && !self.isCommand(state[number].node)
    }

    private func isCommand(_ node: Int32) -> Bool { self.runs[node].inputs.first?.event == .message(.command) }

    private func addInstructions(on number: Int, counter: UInt8, in state: State, to actions: inout [Action]) {
        var pins: [EnteredPIN] = [.wrong]
        if state.rights < self.bounds.rights { pins.append(.first) }
        if state.changes > 0 {
            pins.append(.wrongForSecond)
            if state.rights < self.bounds.rights { pins.append(.second) }
        }
        for entry in 1...state.entries + 1 {
            for pin in pins {
                actions.append(
                    .send(number, .instruct(counter: counter, entry: entry, pin: pin, changesPIN: false))
                )
                if !pin.isOfSecondPair, state.changes < self.bounds.changes {
                    actions.append(
                        .send(number, .instruct(counter: counter, entry: entry, pin: pin, changesPIN: true))
                    )
                }
            }
        }
    }

    /// Carries out a step.
    ///
    /// - Throws: ``Violation`` if an invariant does not hold afterwards.
    func state(after action: Action, in before: State) throws -> State {
        var state = before
        switch action {
        case .send(let number, let message): try self.send(message, on: number, &state)
        case .step(let number): try self.step(of: number, &state)
        case .replicate:
            try self.noteWait("replicated", state)
            state.standby = state.primary
            state.isBehind = false
            state.waiting = -1
        case .cancelWait:
            state.cancellations += 1
            state[Int(state.waiting)].reply = self.runs.number(of: .failed(.outcomeUnknown))
            try self.noteWait("cancelled", state)
            state.waiting = -1
        case .failOver(let keepsCommit):
            state.failovers += 1
            if keepsCommit { state.standby = state.primary }
            if state.waiting >= 0 {
                state[Int(state.waiting)].reply = self.runs.number(of: .failed(.outcomeUnknown))
                try self.noteWait("failover", state)
            }
            state.primary = state.standby
            state.isBehind = false
            state.waiting = -1
        case .proceed(let number):
            let input = Input(event: .reply(self.runs.reply(state[number].reply)), time: state.time)
            state[number].reply = -1
            try self.enter(input, on: number, &state)
        case .deliver(let number): try self.deliver(on: number, &state)
        case .lose(let number):
            if self.bounds.isPlayable { state.lost = state[number].node }
            state[number] = State.Connection()
        case .cut(let number):
            state.cuts += 1
            try self.cut(number, &state)
        case .crash(let server):
            state.crashes += 1
            self.end(server, &state)
        case .backUp: state.backup = state.primary
        case .restore: try self.restore(&state)
        case .setClock(let step):
            state.clockSteps += 1
            state.time += step
        }
        try self.check(state)
        return state
    }

    private func send(_ message: Message, on number: Int, _ state: inout State) throws {
        switch message {
        case .openSession: state.sessions += 1
        case .revoke: state.revocations += 1
        case .command: state.commands += 1
        case .instruct(_, let entry, let pin, let changesPIN):
            state.messages += 1
            state.entries = max(state.entries, entry)
            if pin == .first || pin == .second { state.rights += 1 }
            if changesPIN { state.changes += 1 }
        }
        try self.enter(Input(event: .message(message), time: state.time), on: number, &state)
    }

    /// Gives the server an input and takes note of its effects.
    private func enter(_ input: Input, on number: Int, _ state: inout State) throws {
        let next = try self.runs.node(after: state[number].node, input, place: self.place(of: number))
        let finding = self.runs[next].finding
        state[number].node = next
        state[number].hasAnswer = finding.answer != nil
        if finding.isRecorded {
            if Self.client(of: number) == Self.revoking {
                state.isRevocationRecorded = true
            } else {
                state.isBlockRecorded = true
            }
        }
        if finding.closesOthers {
            for other in 0...Self.revoking where other != number && self.server(of: other) == self.server(of: number) {
                guard state[other].node >= 0, self.runs[state[other].node].finding.isJoined else { continue }
                // An operator's command leaves idle connections open.
                let isBusy = state[other].hasAnswer || self.runs[state[other].node].finding.operation != nil
                if isBusy || !self.isCommand(next) { try self.abort(other, &state) }
            }
        }
        if finding.isClosed, finding.answer == nil, finding.operation == nil { self.close(number, &state) }
    }

    /// Closes a connection at the server.
    ///
    /// If the bounds have cuts, its waiting call continues.
    private func abort(_ number: Int, _ state: inout State) throws {
        let callWaits = self.runs[state[number].node].finding.operation != nil
        guard callWaits, self.bounds.cuts > 0, state[Self.cut(number)].node < 0 else {
            return self.close(number, &state)
        }
        try self.cut(number, &state)
    }

    /// Cuts a connection: the server continues its call, and the client may connect again.
    private func cut(_ number: Int, _ state: inout State) throws {
        let place = Self.cut(number)
        state[place] = state[number]
        state[number] = State.Connection()
        if state.waiting == number { state.waiting = Int8(place) }
        try self.enter(Input(event: .cut, time: state.time), on: place, &state)
    }

    private func close(_ number: Int, _ state: inout State) {
        if state.waiting == number { state.waiting = -1 }
        state[number] = State.Connection()
    }

    private func end(_ server: Int, _ state: inout State) {
        for number in Self.connections where self.server(of: number) == server { self.close(number, &state) }
    }

    private func step(of number: Int, _ state: inout State) throws {
        let node = state[number].node
        guard let operation = self.runs[node].finding.operation else { preconditionFailure("the call waits") }
        let before = self.rows.facts(in: state.primary.contents)
        let (reply, contents, commits) = try self.rows.run(operation, of: node, on: state.primary.contents)
        let after = self.rows.facts(in: contents)
        state[number].reply = self.runs.number(of: reply)
        state.primary.contents = contents
        if case .judged(let outcome) = reply, case .judge(let attempt) = operation {
            try self.judged(attempt, of: node, outcome, before, after, &state)
        }
        state[number].serial = state.primary.serial
        state[number].round = state.primary.round
        guard commits else { return }
        if self.bounds.servers == 2 {
            state.isBehind = true
            state.waiting = Int8(number)
        } else {
            state.standby = state.primary
        }
    }

    /// The invariants of one judged attempt.
    private func judged(
        _ attempt: Attempt,
        of node: Int32,
        _ outcome: AttemptOutcome,
        _ before: Facts,
        _ after: Facts,
        _ state: inout State
    ) throws {
        guard let (_, pin) = self.lastEntry(of: node) else { preconditionFailure("the step belongs to an instruction") }
        let isRepetition = before.record.lastWrongAttempt == attempt.attemptID
        if case .notValid = outcome { try self.checkLength(of: after.record.block, at: attempt.now) }
        switch outcome {
        case .valid:
            if isRepetition { throw Violation(text: "a second PIN is judged under one attempt id") }
            if pin != before.currentPIN { throw Violation(text: "a PIN that is not the current one is accepted") }
            if !after.record.isEmpty { throw Violation(text: "an attempt remains counted after a right PIN") }
            state.rounds += 1
            state.primary.round = state.rounds
            state.primary.serial = 0
        case .notValid(.wrong, _) where !isRepetition || after.record != before.record:
            if pin == before.currentPIN { throw Violation(text: "the right PIN is called wrong") }
            if after.hasSecondPIN != before.hasSecondPIN { throw Violation(text: "a wrong PIN changes the PIN") }
            if state.entries == 1, state.restores == 0, after.record.failures > 1 {
                throw Violation(text: "one entry of a PIN is counted twice")
            }
            state.primary.serial = state.addJudgment(in: state.primary.round)
        default: return
        }
        if before.isRevoked { throw Violation(text: "a revoked wallet's PIN is judged") }
        if pin.isOfSecondPair != before.hasSecondPIN { throw Violation(text: "a replaced PIN key costs an attempt") }
        if before.record.forbidsJudging(at: attempt.now) { throw Violation(text: "a PIN is judged during a block") }
    }

    /// Checks that a block lasts at most its length from now, even after the clock was set back.
    private func checkLength(of block: AttemptRecord.Block?, at now: Timestamp) throws {
        guard let block, now + block.length < block.end else { return }
        throw Violation(text: "a block outlasts its length")
    }

    private func deliver(on number: Int, _ state: inout State) throws {
        let finding = self.runs[state[number].node].finding
        guard let answer = finding.answer else { preconditionFailure("an answer is on its way") }
        if answer.tellsLastVerdict, state[number].serial > 0 {
            state.known |= 1 << state[number].serial
            let told = state.told(in: state[number].round)
            let allowed = self.bounds.allowance(restores: Int(state.restores))
            if told > allowed {
                throw Violation(text: "clients received \(told) wrong verdicts; the policy allows \(allowed)")
            }
        }
        if case .session(isBlockedPermanently: true, hasShare: true) = answer {
            throw Violation(text: "a permanently blocked wallet gets its presence share", isVisible: false)
        }
        if answer.hasShare, state.isRevocationConfirmed, self.server(of: number) == self.server(of: Self.revoking) {
            throw Violation(text: "a share leaves after the server confirmed the revocation")
        }
        if answer.statesPermanentBlock { state.isBlockConfirmed = true }
        if answer == .changed { state.isChangeConfirmed = true }
        if answer == .revocationConfirmed { state.isRevocationConfirmed = true }
        state[number].hasAnswer = false
        if self.lastEntry(of: state[number].node) != nil { state.lost = -1 }
        if finding.isClosed { self.close(number, &state) }
    }

    private func restore(_ state: inout State) throws {
        guard let backup = state.backup else { preconditionFailure("a backup precedes its restore") }
        for server in 0..<Int(self.bounds.servers) { self.end(server, &state) }
        state.restores += 1
        state.primary = backup
        state.primary.contents = try self.rows.restore(
            backup.contents,
            rule: self.bounds.rule,
            at: state.time,
            isEnded: state.isRevocationRecorded,
            isBlocked: state.isBlockRecorded
        )
        state.standby = state.primary
        state.isBehind = false
        state.backup = nil
        // A restore loses changes of PINs: the wallet has both pairs.
        state.isChangeConfirmed = false
    }

    /// The invariants of every state: what was acknowledged survives.
    private func check(_ state: State) throws {
        let facts = self.rows.facts(in: state.primary.contents)
        if facts.isRevoked, facts.hasShare {
            throw Violation(text: "a revoked wallet keeps its unlock share", isVisible: false)
        }
        if state.isRevocationConfirmed, !facts.isRevoked { throw Violation(text: "a confirmed revocation is lost") }
        if state.isChangeConfirmed, !facts.hasSecondPIN {
            throw Violation(text: "a confirmed change of the PIN is lost")
        }
        if state.isBlockConfirmed, !facts.isRevoked, !facts.record.isBlockedPermanently {
            throw Violation(text: "a stated permanent block is lost")
        }
    }
}

extension Facts {
    /// The PIN that is right.
    fileprivate var currentPIN: EnteredPIN { self.hasSecondPIN ? .second : .first }
}

extension AttemptRecord {
    /// Returns whether no PIN may be judged.
    ///
    /// After the clock was set back, a block lasts at most its length from now.
    fileprivate func forbidsJudging(at now: Timestamp) -> Bool {
        if self.isBlockedPermanently { return true }
        guard let block = self.block else { return false }
        return block.end > now && now + block.length >= block.end
    }
}
