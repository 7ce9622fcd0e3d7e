internal import Foundation
internal import HostSystem
internal import LoadPlan
internal import LoadReport
internal import LoadEngine
internal import Synchronization

/// Says on standard error how a run goes: a line each second, or on a terminal a small display in its place.
final class RunDisplay: Sendable {
    private struct State {
        var block: RunBlock
        var last: RunSnapshot?
        var opened = 0
        var isStopping = false
        var isDone = false
    }

    private let plan: LoadPlan
    private let address: String
    private let isBlock: Bool
    private let isTerminal: Bool
    private let state: Mutex<State>

    init(_ plan: LoadPlan, address: String, wantsLines: Bool) {
        let environment = ProcessInfo.processInfo.environment
        self.plan = plan
        self.address = address
        self.isTerminal = Terminal.isTerminal(2)
        self.isBlock = self.isTerminal && !wantsLines && environment["TERM"] ?? "dumb" != "dumb"
        self.state = Mutex(State(block: RunBlock(plan, environment: { environment[$0] })))
    }

    func begin() {
        let loop = self.plan.isOpen ? "open loop" : "closed loop"
        StandardStreams.writeError("\(self.address): \(loop) \(self.plan.stages.text), seed \(self.plan.seed)\n")
    }

    func hear(_ progress: LoadProgress) {
        self.state.withLock { state in
            guard !state.isDone else { return }
            switch progress {
            case .opening(let count, let whole): self.tell(count, whole, &state)
            case .running(let moment): self.show(moment, &state)
            }
        }
    }

    /// Someone asked to stop.
    func stop() {
        self.state.withLock { state in
            state.isStopping = true
            if self.isBlock, let last = state.last {
                self.show(last, &state)
            } else {
                StandardStreams.writeError("stopping: what is under way is waited for (again: ends at once)\n")
            }
        }
    }

    /// Nothing more is drawn.
    func end() { self.state.withLock { $0.isDone = true } }

    private func tell(_ count: Int, _ whole: Int, _ state: inout State) {
        if self.isBlock {
            StandardStreams.writeError("\r\u{1B}[Kopening sessions: \(count) of \(whole)")
            if count == whole { StandardStreams.writeError("\r\u{1B}[K") }
            return
        }
        // Each tenth of many; a line for each would be all that a log holds.
        guard count == whole || (whole >= 1000 && count - state.opened >= whole / 10) else { return }
        state.opened = count
        StandardStreams.writeError("\(count) of \(whole) sessions are open\n")
    }

    private func show(_ moment: RunSnapshot, _ state: inout State) {
        state.last = moment
        guard self.isBlock else {
            StandardStreams.writeError(RunWords(plan: self.plan, moment: moment).line + "\n")
            return
        }
        let columns = Terminal.columns(of: 2) ?? 80
        StandardStreams.writeError(state.block.draw(moment, columns: columns, isStopping: state.isStopping))
    }
}
