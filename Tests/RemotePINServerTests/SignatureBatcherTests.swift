import BatchVerification
import Secrets
import Statements
import Synchronization
import TestSupport
import Testing
import Vocabulary
import WalletStore

@testable import RemotePINServer

@Suite("Signature batcher")
struct SignatureBatcherTests {
    @Test("the claims of one event loop tick form one batch, and each task gets the verdict on its own claim")
    func together() async throws {
        let batches = try await Self.batches(of: [5, 1, 40])
        #expect(batches == [5, 1, 40])
    }

    @Test("on several threads, each task still gets the verdict on its own claim")
    func threads() async throws {
        let batcher = SignatureBatcher(for: ExpectedSteps())
        let claims = try Self.claims(48)
        await withTaskGroup { group in
            for (number, claim) in claims.enumerated() {
                group.addTask { await batcher.isTrue(claim) == !Self.isFalse(number) }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test("a single claim is answered, and so is the next one after it")
    func alone() async throws {
        let batcher = SignatureBatcher(for: ExpectedSteps())
        for (number, claim) in try Self.claims(8).enumerated() {
            #expect(await batcher.isTrue(claim) == !Self.isFalse(number))
        }
    }

    @Test("a cancelled first task still answers the other tasks of its batch")
    func cancelled() async throws {
        let batches = try await Self.batches(of: [3], cancellingFirst: true)
        #expect(batches == [3])
    }

    /// Returns the size of each batch if this many claims arrive in each tick; checks that each
    /// task gets its verdict.
    private static func batches(of counts: [Int], cancellingFirst: Bool = false) async throws -> [Int] {
        let batches = Mutex<[Int]>([])
        let batcher = SignatureBatcher(for: ExpectedSteps()) { claims in
            batches.withLock { $0.append(claims.count) }
            return SignatureClaim.areTrue(claims)
        }
        let executor = ManualExecutor()
        for count in counts {
            let tasks = try Self.claims(count).map { claim in
                Task(executorPreference: executor) { await batcher.isTrue(claim) }
            }
            if cancellingFirst { tasks[0].cancel() }
            executor.runAll()
            for (number, task) in tasks.enumerated() { #expect(await task.value == !Self.isFalse(number)) }
        }
        return batches.withLock(\.self)
    }

    @Test("a batch waits for further claims only during a large commit, until it is large or the commit ends")
    func waits() async throws {
        let (steps, executor) = (ExpectedSteps(), ManualExecutor())
        let batches = Mutex<[Int]>([])
        let batcher = SignatureBatcher(for: steps) { claims in
            batches.withLock { $0.append(claims.count) }
            return SignatureClaim.areTrue(claims)
        }
        let large = SignatureBatcher.largeBatch
        let claims = try Self.claims(3 + large + 2)
        var tasks: [Task<Bool, Never>] = []
        func add(_ count: Int) {
            tasks += claims[tasks.count..<tasks.count + count].map { claim in
                Task(executorPreference: executor) { await batcher.isTrue(claim) }
            }
            executor.runAll()
        }
        steps.commit(of: SignatureBatcher.largeCommit - 1) {
            add(3)
            #expect(batches.withLock(\.self) == [3])
        }
        steps.commit(of: SignatureBatcher.largeCommit) {
            add(large - 1)
            #expect(batches.withLock(\.self) == [3])
            add(1)
            #expect(batches.withLock(\.self) == [3, large])
            add(2)
            #expect(batches.withLock(\.self) == [3, large])
        }
        executor.runAll()
        try #require(batches.withLock(\.self) == [3, large, 2])
        for (number, task) in tasks.enumerated() { #expect(await task.value == !Self.isFalse(number)) }
    }

    @Test("each event loop has exactly one batcher")
    func eventLoops() {
        let steps = ExpectedSteps()
        let batchers = SignatureBatchers(for: steps)
        let loops = [SignatureBatcher(for: steps), SignatureBatcher(for: steps)]
        let first = batchers[ObjectIdentifier(loops[0])]
        #expect(batchers[ObjectIdentifier(loops[0])] === first)
        #expect(batchers[ObjectIdentifier(loops[1])] !== first)
    }

    private static func isFalse(_ number: Int) -> Bool { number % 5 == 2 }

    /// Claims of which some name another statement than the signed one.
    private static func claims(_ count: Int) throws -> [SignatureClaim] {
        guard let pin = PIN(copying: Array("024791".utf8)) else { throw UnexpectedAnswer() }
        let key = PINKey(pin: pin, salt: SecretBytes(copying: [UInt8](repeating: 5, count: 32)))
        let binding = try #require(ChannelBinding([UInt8](repeating: 1, count: 32)))
        let wallet = WalletID.random()
        func statement(_ counter: Int) -> Statement {
            Statement(.instructPIN, channelBinding: binding, walletID: wallet, counter: UInt64(counter), body: [])
        }
        var claims: [SignatureClaim] = []
        for number in 0..<count {
            let signature = key.sign(statement(number))
            let y = try #require(P256NonceY(of: signature, by: key.publicKey, for: statement(number)))
            let claimed = statement(Self.isFalse(number) ? number + 1 : number)
            claims.append(SignatureClaim(signature, nonceY: y, by: key.publicKey, for: claimed.digest))
        }
        return claims
    }
}

/// An executor that runs its jobs on request, in the order of their arrival, as an event loop does.
private final class ManualExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.jobs.withLock { $0.append(job) }
    }

    /// Runs jobs until none is queued.
    func runAll() {
        while let job = self.jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
