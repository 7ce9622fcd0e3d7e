import BatchVerification
import Secrets
import Statements
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import RemotePINServer

@Suite("Where signatures are verified together")
struct SignatureLineTests {
    @Test("what the tasks of one turn bring is verified at once, and each gets the verdict on its own")
    func together() async throws {
        let turns = try await Self.batches(of: [5, 1, 40])
        #expect(turns == [5, 1, 40])
    }

    @Test("each task gets the verdict on its own claim on several threads, too")
    func threads() async throws {
        let line = SignatureLine()
        let claims = try Self.claims(48)
        await withTaskGroup { group in
            for (number, claim) in claims.enumerated() {
                group.addTask { await line.isTrue(claim) == !Self.isFalse(number) }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test("a claim that comes alone is answered, and the next one after it")
    func alone() async throws {
        let line = SignatureLine()
        for (number, claim) in try Self.claims(8).enumerated() {
            #expect(await line.isTrue(claim) == !Self.isFalse(number))
        }
    }

    @Test("a task that was cancelled still answers those that came with it")
    func cancelled() async throws {
        let turns = try await Self.batches(of: [3], cancellingFirst: true)
        #expect(turns == [3])
    }

    /// How many claims each verification had, where so many come in each turn; each gets the verdict on its own.
    private static func batches(of counts: [Int], cancellingFirst: Bool = false) async throws -> [Int] {
        let batches = Mutex<[Int]>([])
        let line = SignatureLine { claims in
            batches.withLock { $0.append(claims.count) }
            return SignatureClaim.areTrue(claims)
        }
        let executor = TurnByTurn()
        for count in counts {
            let tasks = try Self.claims(count).map { claim in
                Task(executorPreference: executor) { await line.isTrue(claim) }
            }
            if cancellingFirst { tasks[0].cancel() }
            executor.runAll()
            for (number, task) in tasks.enumerated() { #expect(await task.value == !Self.isFalse(number)) }
        }
        return batches.withLock(\.self)
    }

    @Test("each event loop has one line, and only one")
    func lines() {
        let (lines, loops) = (SignatureLines(), [SignatureLine(), SignatureLine()])
        let first = lines.line(of: ObjectIdentifier(loops[0]))
        #expect(lines.line(of: ObjectIdentifier(loops[0])) === first)
        #expect(lines.line(of: ObjectIdentifier(loops[1])) !== first)
    }

    private static func isFalse(_ number: Int) -> Bool { number % 5 == 2 }

    /// Of which some are over another statement than they say.
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

/// Runs tasks' jobs when it is told to, in the order in which they came, as an event loop does.
private final class TurnByTurn: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.jobs.withLock { $0.append(job) }
    }

    /// Returns when none waits.
    func runAll() {
        while let job = self.jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
