import CurveArithmetic
import Synchronization
import Testing

@Suite("Pool of scratch objects")
struct ScratchPoolTests {
    @Test("an object on loan is lent to no other caller until it is returned, and can be lent again afterwards")
    func exclusive() {
        let made = Mutex(0)
        let pool = ScratchPool<Int>()
        func number() -> Int {
            made.withLock { made in
                made += 1
                return made
            }
        }
        func lent(_ body: (Int) -> [Int] = { _ in [] }) -> [Int] {
            pool.withValue(orNew: number) { value in [value] + body(value) }
        }
        // Nested calls get different objects; calls in sequence get the same one.
        #expect(lent { _ in lent { _ in lent() } } == [1, 2, 3])
        #expect(Set(lent { _ in lent { _ in lent() } }) == [1, 2, 3])
        #expect(lent() == lent())
        #expect(made.withLock(\.self) == 3)
    }
}
