internal import PlayedCounterexamples

// The steps that the app on a phone, its owner and the operators of a lab can repeat: one call at a time, on one
// connection at a time. The app sends an entry again only if its answer was lost.
extension Transitions {
    /// Returns whether a lab can play a step.
    func canPlay(_ action: Action, in state: State) -> Bool {
        guard self.bounds.servers == 1 else { return false }
        let busy = (0...Self.revoking).first { self.isBusy($0, in: state) }
        switch action {
        case .step, .proceed, .deliver: return true
        case .lose(let number): return self.lastEntry(of: state[number].node) != nil
        case .send(_, .openSession): return busy == nil && state.first.node < 0 && state.second.node < 0
        case .send(_, .instruct(_, let entry, let pin, let changesPIN)):
            guard busy == nil, !changesPIN else { return false }
            guard let lost = self.lastEntry(of: state.lost) else { return entry == state.entries + 1 }
            return (entry, pin) == lost
        case .send(_, .revoke), .send(_, .command), .crash: return busy == nil && state.lost < 0
        case .setClock(let step): return step > 0 && busy == nil && state.lost < 0
        case .cut, .replicate, .cancelWait, .failOver, .backUp, .restore: return false
        }
    }

    private func isBusy(_ number: Int, in state: State) -> Bool {
        let connection = state[number]
        guard connection.node >= 0 else { return false }
        return connection.hasAnswer || self.runs[connection.node].finding.operation != nil
    }

    /// The entry and the PIN of a connection's last instruction.
    func lastEntry(of node: Int32) -> (UInt8, EnteredPIN)? {
        guard node >= 0 else { return nil }
        for input in self.runs[node].inputs.reversed() {
            if case .message(.instruct(_, let entry, let pin, _)) = input.event { return (entry, pin) }
        }
        return nil
    }

    /// Returns the scenario steps for a trace that a lab can play in full.
    func played(_ trace: [Action]) -> [PlayedStep] {
        var (steps, lost, isEntry) = ([PlayedStep](), 0, false)
        for action in trace {
            switch action {
            case .send(_, .openSession):
                isEntry = false
                if lost == 0, !steps.isEmpty { steps.append(.newSession) }
            case .send(_, .instruct(_, _, let pin, _)):
                isEntry = true
                // After a lost answer, the app sends the same entry again.
                if lost > 0 { steps.removeLast() }
                steps.append(.enter(isRight: pin == .first, lost: lost))
            case .send(_, .revoke): steps.append(.revokeWithCode)
            case .send(_, .command): steps.append(.revokeWallet)
            case .crash: steps.append(.restart)
            case .setClock: steps.append(.minute)
            case .lose: lost += 1
            case .deliver: if isEntry { lost = 0 }
            case .step, .proceed, .cut, .replicate, .cancelWait, .failOver, .backUp, .restore: break
            }
        }
        return steps
    }
}
