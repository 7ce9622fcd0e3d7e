import Synchronization
import TestSupport
import Testing

@testable import WalletStore

@Suite("The commit in progress")
struct ExpectedStepsTests {
    @Test("a verifier is called when the commit in progress ends, and does not wait for a smaller commit")
    func commit() {
        let steps = ExpectedSteps()
        let calls = Mutex(0)
        func wait(_ stepCount: Int) -> Bool {
            steps.afterCommit(ofAtLeast: stepCount) { calls.withLock { $0 += 1 } }
        }
        #expect(!wait(1))
        steps.commit(of: 3) {
            #expect(!wait(4) && wait(3) && wait(1))
            #expect(calls.withLock(\.self) == 0)
        }
        #expect(calls.withLock(\.self) == 2)
        #expect(!wait(1))
    }

    @Test("the store announces its commits")
    func announced() async throws {
        let store = try TemporaryFolder().store()
        await withCheckedContinuation { waiter in
            Task {
                try await store.queue.perform { _ in
                    if !store.expectedSteps.afterCommit(ofAtLeast: 1, { waiter.resume() }) {
                        Issue.record("no commit is in progress during a step")
                        waiter.resume()
                    }
                }
            }
        }
        await store.close()
    }
}
