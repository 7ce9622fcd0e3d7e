import Foundation
import PINPolicy
import Secrets
import Statements
import Vocabulary
import WalletStore
import Wire

/// Measures the server's CPU time for the receipt of a PIN check.
///
/// Two SQLite stores in temporary folders judge the same number of right PINs in turn: one issues receipts, the other
/// does not. Each answer is encoded as the server would. The difference is the cost of a receipt, except for the
/// encryption of its bytes by TLS.
///
/// Arguments are batch sizes, from 1 to 256.
@main
struct ReceiptBench {
    private static let rounds = 40
    private static let checksInRound = 4_096

    static func main() async throws {
        print("batch   with    without  receipt  (µs of CPU per check, medians of \(self.rounds) rounds)")
        let chosen = CommandLine.arguments.dropFirst().compactMap(Int.init).filter((1...256).contains)
        for batch in chosen.isEmpty ? [1, 8, 32, 64] : chosen {
            let signer = Signer(key: ReceiptSigningKey(id: 1, seed: .random(count: ReceiptSigningKey.seedByteCount)))
            let (with, without) = (try await Bench(batch, receipts: signer), try await Bench(batch, receipts: nil))
            var costs: [(with: Double, without: Double)] = []
            for _ in 0..<self.rounds {
                costs.append((try await with.cost(self.checksInRound), try await without.cost(self.checksInRound)))
            }
            let medians = [costs.map(\.with), costs.map(\.without), costs.map { $0.with - $0.without }]
                .map { $0.sorted()[self.rounds / 2] }
            print(String(format: "%5d %7.2f %9.2f %8.2f", batch, medians[0], medians[1], medians[2]))
        }
    }
}

private struct Signer: ReceiptSigner {
    let key: ReceiptSigningKey

    func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp, by version: UInt32?) -> SignedRoot? {
        self.key.sign(root: root, epoch: epoch, at: time)
    }
}

/// A store with as many wallets as a batch has attempts.
private final class Bench: Sendable {
    private let folder: URL
    private let store: SQLiteWalletStore
    private let attempts: [Attempt]

    init(_ batch: Int, receipts: Signer?) async throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("receipt-bench.\(UUID())")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let key = RecordKey(SecretBytes.random(count: 32))
        self.store = try .open(folder: self.folder.path, key: key, creating: true, receipts: receipts)
        var attempts: [Attempt] = []
        for _ in 0..<batch { attempts.append(try await Self.wallet(in: self.store)) }
        self.attempts = attempts
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    /// Returns the CPU time of this process per check, in microseconds, over `count` checks.
    func cost(_ count: Int) async throws -> Double {
        let start = clock()
        for _ in 0..<count / self.attempts.count {
            // The store then waits for these checks, so that they form one batch.
            for _ in self.attempts { self.store.expectedSteps.begin() }
            try await withThrowingTaskGroup { group in
                for attempt in self.attempts { group.addTask { try await self.check(attempt) } }
                try await group.waitForAll()
            }
        }
        return Double(clock() - start) / Double(CLOCKS_PER_SEC) * 1_000_000 / Double(count)
    }

    private func check(_ attempt: Attempt) async throws {
        var attempt = attempt
        attempt.attemptID = .random()
        self.store.expectedSteps.end()
        let judged = try await self.store.judge(attempt)
        guard case .valid = judged.outcome else { fatalError("a right PIN was judged \(judged.outcome)") }
        let result = InstructResult.pinValid(unlockShare: .random(), next: nil)
        let answer: CallResult = judged.receipt.map { .judged(result, $0) } ?? .instruct(result)
        _ = Response(id: 1, result: answer).encoded()
    }

    /// Registers a wallet, opens its first session, and returns an attempt with its right PIN.
    private static func wallet(in store: SQLiteWalletStore) async throws -> Attempt {
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: .min ... .max) } }
        let now = Timestamp(milliseconds: 1_795_000_000_000)
        let (id, keyID, identity) = (WalletID.random(), PINKeyID.random(), bytes(300))
        guard let pinKey = P256PublicKey([4] + bytes(64)), let digest = SHA256Digest(bytes(32)) else {
            preconditionFailure("a public key has 65 bytes, and a digest 32")
        }
        _ = try await store.register(
            NewRegistration(
                walletID: id,
                hardwareKeyDigest: digest,
                identity: identity,
                pinKeyID: keyID,
                unlockShare: bytes(80),
                presenceShare: bytes(80),
                deletionCode: nil,
                assertionCounter: nil,
                attested: "{}",
                now: now
            )
        )
        _ = try await store.beginSession(
            NewSession(walletID: id, identity: identity, assertionCounter: nil, policy: .standard, now: now)
        )
        return Attempt(
            walletID: id,
            attemptID: .random(),
            namedKeyID: keyID,
            identity: identity,
            pinKey: pinKey,
            candidate: pinKey,
            effect: .releaseShare,
            policy: .standard,
            now: now
        )
    }
}
