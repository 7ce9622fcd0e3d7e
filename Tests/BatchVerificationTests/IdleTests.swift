import Synchronization
import Testing

@testable import BatchVerification

@Suite("What is lent to one at a time")
struct IdleTests {
    @Test("it is lent to nobody else meanwhile, and again afterwards")
    func lent() {
        let made = Mutex(0)
        let idle = Idle<Int>()
        func number() -> Int {
            made.withLock { made in
                made += 1
                return made
            }
        }
        func lent(_ body: (Int) -> [Int] = { _ in [] }) -> [Int] {
            idle.withOne(orNew: number) { value in [value] + body(value) }
        }
        // Each beside those before it, then one after the other.
        #expect(lent { _ in lent { _ in lent() } } == [1, 2, 3])
        #expect(Set(lent { _ in lent { _ in lent() } }) == [1, 2, 3])
        #expect(lent() == lent())
        #expect(made.withLock(\.self) == 3)
    }
}
