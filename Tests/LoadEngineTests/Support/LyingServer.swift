import HostSystem
import Lab
import LabFiles
import LoadEngine
import Secrets
import Synchronization
import TestSupport
import Transport
import Vocabulary
import Wire

/// A server that knows the wallets' PINs, counts wrong ones correctly, and lies in one way.
///
/// Its certificate is the lab's, so that only the check of its responses can detect it.
final class LyingServer: Sendable {
    enum Lie: CaseIterable, Sendable {
        /// No lie: wrong PINs are counted and followed by blocks.
        case none
        case rightIsWrong
        case wrongIsValid
        case otherShare
        case nothingCounted
        case noBlock
        case blockForNothing
        case openingForgetsCount
        case answersOtherwise
        case noReceipt
        case sameNumber
    }

    /// The folder of a lab that names this server.
    let folder: String
    private let listener: RPCListener
    private let serving: Task<Void, Never>

    private struct Wallet {
        var failures = 0
        /// The number of judged attempts.
        var number: UInt64 = 0
        var blockedUntil: ContinuousClock.Instant?
    }

    private let lie: Lie
    private let wallets: [WalletID: FleetWallet]
    private let state = Mutex<[WalletID: Wallet]>([:])

    init(_ lie: Lie, before lab: LoadLab) async throws {
        self.lie = lie
        let real = LabFolder(lab.path)
        self.folder = lab.folder.file("liar-\(UInt64.random(in: .min ... .max))")
        let authority = try LabAuthority.load(from: real.authorityFolder)
        let (certificate, key) = authority.issueTLSServerCertificate(names: ["localhost", "127.0.0.1"])
        try DurableFile.makeFolder(self.folder)
        try DurableFile.write(Array(certificate.utf8), to: "\(self.folder)/tls.pem")
        try DurableFile.write(Array(key.utf8), to: "\(self.folder)/tls.key")
        self.listener = try await RPCListener.bind(
            host: "127.0.0.1",
            port: 0,
            tls: try TLSServerContext(certificateFile: "\(self.folder)/tls.pem", keyFile: "\(self.folder)/tls.key")
        )
        var file = try LabFile(of: real)
        file.port = self.listener.port
        try file.write(to: LabFolder(self.folder))
        let fleet = try Fleet.open(lab.walletsFile, for: try Target(lab: lab.path).fingerprint)
        var wallets: [WalletID: FleetWallet] = [:]
        for index in 0..<fleet.count { wallets[try fleet[index].walletID] = try fleet[index] }
        try fleet.close()
        self.wallets = wallets
        let (listener, box) = (self.listener, WeakServer())
        self.serving = Task { await listener.serve { await box.serve($0) } }
        box.server.withLock { $0 = self }
    }

    func stop() {
        self.listener.stop()
        self.serving.cancel()
    }

    /// A weak reference for the listener's task, so that the task does not keep the server alive.
    private final class WeakServer: Sendable {
        let server = Mutex<LyingServer?>(nil)

        func serve(_ client: ServerConnection) async {
            let server = self.server.withLock { $0 }
            await server?.serve(client)
        }
    }

    private func serve(_ client: ServerConnection) async {
        var wallet: FleetWallet?
        while case .request(let request) = await client.next() {
            let result: CallResult
            switch request.call {
            case .hello: result = .hello(Self.terms)
            case .openSession(let call):
                guard let known = self.wallets[call.walletID] else { return }
                wallet = known
                result = .openSession(.active(self.opening(of: known)))
            case .instruct(let call):
                guard let wallet, let body = try? InstructBody(decoding: call.body) else { return }
                let isRight = body.candidate == wallet.pinKey(.right).publicKey
                result = self.lie == .answersOtherwise ? .reportWipe : self.answer(to: body, of: wallet, isRight)
            case .beginEnrollment, .register, .revokeWithCode, .reportWipe, .confirmShares, .unknown: return
            }
            await client.send(Response(id: request.id, result: result))
        }
    }

    private static let terms = ServerTerms(
        serverTime: Timestamp(milliseconds: 1_795_000_000_000),
        update: .ok,
        policy: .standard,
        features: Features(deletionCode: false, safeBiometricUnlock: false),
        solutionRevoked: false,
        limits: ServerTerms.Limits(maxInFlight: 16, sessionLifetime: .seconds(900), tokenLifetime: .seconds(300))
    )

    private func opening(of wallet: FleetWallet) -> ActiveWallet {
        let state = self.state.withLock { self.pinState($0[wallet.walletID] ?? Wallet()) }
        let said: PINState = self.lie == .openingForgetsCount ? .open(attemptsLeft: 4, finalRound: false) : state
        return ActiveWallet(
            pinKeyID: wallet.pinKeyID(generation: wallet.generation),
            pinState: said,
            attempts: AttemptCounts(number: 0, wrongPINs: 0, lastWrong: nil, epoch: 1),
            features: Features(deletionCode: false, safeBiometricUnlock: false),
            presenceShare: .random()
        )
    }

    private func pinState(_ wallet: Wallet) -> PINState {
        if let end = wallet.blockedUntil, end > .now { return .blocked(remaining: end - .now) }
        return .open(attemptsLeft: 4 - wallet.failures % 4, finalRound: wallet.failures >= 12)
    }

    /// The verdict with a receipt, whose signature the load tool does not verify.
    private func answer(to body: InstructBody, of wallet: FleetWallet, _ isRight: Bool) -> CallResult {
        let result = self.judge(wallet, isRight: isRight)
        guard self.lie != .noReceipt else { return .instruct(result) }
        let outcome: AttemptLeaf.Outcome =
            switch result {
            case .pinValid: .right
            case .wrong: .wrong
            default: .notJudged
            }
        let entry = self.state.withLock { wallets in
            if outcome != .notJudged, self.lie != .sameNumber || wallets[wallet.walletID, default: Wallet()].number == 0
            {
                wallets[wallet.walletID, default: Wallet()].number += 1
            }
            return wallets[wallet.walletID, default: Wallet()]
        }
        let leaf = AttemptLeaf(
            outcome: outcome,
            wrongPINs: entry.failures,
            walletID: wallet.walletID,
            attemptID: body.attemptID,
            number: entry.number,
            lastWrong: nil
        )
        guard let root = SHA256Digest([UInt8](repeating: 0, count: 32)),
            let signature = P256Signature([UInt8](repeating: 0, count: 64))
        else { return .instruct(result) }
        var bytes: [UInt8] = []
        leaf.write(to: &bytes)
        let time = Timestamp(milliseconds: 1_795_000_000_000)
        let signed = SignedRoot(epoch: 1, time: time, keyID: 1, root: root, signature: signature)
        let receipt = Receipt(leaf: bytes[...], place: 0, leafCount: 1, signedRoot: signed.encoded(), path: [])
        return .judged(result, receipt)
    }

    private func judge(_ wallet: FleetWallet, isRight: Bool) -> InstructResult {
        self.state.withLock { wallets in
            var entry = wallets[wallet.walletID] ?? Wallet()
            defer { wallets[wallet.walletID] = entry }
            if self.lie == .blockForNothing { return .blocked(remaining: .seconds(60)) }
            if self.lie != .noBlock, let end = entry.blockedUntil, end > .now { return .blocked(remaining: end - .now) }
            if isRight, self.lie != .rightIsWrong {
                entry = Wallet(number: entry.number)
                // Only the real server knows the wallet's share.
                return .pinValid(unlockShare: .random())
            }
            if self.lie == .wrongIsValid { return .pinValid(unlockShare: .random()) }
            if self.lie != .nothingCounted { entry.failures += 1 }
            if entry.failures > 0, entry.failures.isMultiple(of: 4), self.lie != .noBlock {
                entry.blockedUntil = .now + .seconds(60)
                return .wrong(.blocked(remaining: .seconds(60)))
            }
            return .wrong(.open(attemptsLeft: 4 - entry.failures % 4, finalRound: entry.failures >= 12))
        }
    }
}
