import Synchronization
import Transport
import Vocabulary

@testable import DeletionPortal

/// A revocation service that knows one code and records the requests.
final class FakeRevocationService: RevocationService {
    static let code = "4K7W-9Q2M-XH3T-0B8R-1Z"
    static let revokedAt = Timestamp(milliseconds: 1_795_000_000_000)

    private struct State {
        var asked: [String] = []
        var sources: [PeerSource] = []
        var answer: RevocationAnswer?
    }

    private let state = Mutex(State())
    private let gate: Gate?

    /// - Parameter gate: delays every answer until it opens.
    init(gate: Gate? = nil) {
        self.gate = gate
    }

    /// Every received code, in order.
    var asked: [String] { self.state.withLock { $0.asked } }
    /// The sources of these codes.
    var sources: [PeerSource] { self.state.withLock { $0.sources } }

    /// Sets the answer to every further code; nil for the regular answers.
    func answer(_ answer: RevocationAnswer?) {
        self.state.withLock { $0.answer = answer }
    }

    func revoke(_ code: String, for source: PeerSource) async -> RevocationAnswer {
        let answer = self.state.withLock { state in
            state.asked.append(code)
            state.sources.append(source)
            return state.answer
        }
        await self.gate?.isOpen()
        if let answer { return answer }
        return DeletionCode(code) == DeletionCode(Self.code) ? .revoked(at: Self.revokedAt) : .wrong
    }
}

/// A gate that delays its callers until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func isOpen() async {
        await withCheckedContinuation { continuation in
            let isOpen = self.state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = self.state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
