import Synchronization

/// Counts who is inside of something at once.
final class Order: Sendable {
    private let state = Mutex<(inside: [Int: Int], most: [Int: Int])>(([:], [:]))

    func enter(_ place: Int) {
        self.state.withLock { state in
            state.inside[place, default: 0] += 1
            state.most[place] = max(state.most[place] ?? 0, state.inside[place] ?? 0)
        }
    }

    func leave(_ place: Int) { self.state.withLock { $0.inside[place, default: 0] -= 1 } }

    var mostInside: [Int: Int] { self.state.withLock(\.most) }
}
