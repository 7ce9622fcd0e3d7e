package import WalletFlows
internal import FoundationEssentials
internal import HostSystem
package import Vocabulary

/// A simulated phone in which programs replace some of the parts.
package final class HookedDevice: DeviceWrapper {
    private let device: SimulatedDevice
    private let biometric: BiometricHook?
    private let key: KeyHook?

    package init(_ device: SimulatedDevice, _ hooks: DeviceHooks) {
        self.device = device
        self.biometric = hooks.biometric.map {
            BiometricHook(program: HookProgram(kind: .biometric, command: $0), device: device, report: hooks.report)
        }
        self.key = hooks.key.map {
            KeyHook(program: HookProgram(kind: .key, command: $0), device: device, report: hooks.report)
        }
    }

    package var wrapped: any Device { self.device }
    package var hasKey: Bool {
        self.key == nil ? self.device.hasKey : DurableFile.exists(self.device.files.path(.keyHandle))
    }

    package var answersPrompts: Bool { self.biometric != nil || self.device.answersPrompts }
    package var keychain: any Keychain {
        SimulatedKeychain(device: self.device, responder: self.biometric ?? self.device)
    }

    package func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
    {
        guard let biometric else { return try await self.device.authenticate(prompt, presentation) }
        return try await biometric.ask(prompt, presentation)
    }

    package func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        guard let key else { return try await self.device.createKey(challenge: challenge) }
        return try await key.create(challenge: challenge)
    }

    package func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        guard let key else { return try await self.device.prove(statement: statement) }
        return try await key.prove(statement)
    }

    package func deleteKey() async throws(DeviceError) {
        guard let key else { return try await self.device.deleteKey() }
        try await key.delete()
    }
}

/// Secure hardware implemented by a program.
///
/// The program stores the keys. We only store its name for the current key, in the file `key-handle` in the device's
/// folder. The program's output is not trusted, because the server verifies its evidence and proofs like any other
/// phone's.
struct KeyHook: Sendable {
    let program: HookProgram
    let device: SimulatedDevice
    let report: @Sendable (String) -> Void

    private struct Question: Encodable {
        let hook = "key"
        var operation: String
        var platform: String
        var appID: String
        var challenge: String?
        var statement: String?
        var key: String?
        var replaces: String?
    }

    private struct Created: Decodable {
        let key: String
        let chain: [String]?
        let object: String?
        let keyID: String?

        private enum CodingKeys: String, CodingKey {
            case key, chain, object
            case keyID = "key_id"
        }
    }

    private struct Proved: Decodable {
        let signature: String?
        let assertion: String?
    }

    private struct Deleted: Decodable {}

    private static let handleLimit = 1024

    /// Creates a key, makes its name durable, and returns its evidence.
    func create(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        var question = self.question("create")
        question.challenge = Self.text(challenge.bytes)
        question.replaces = try self.handle()
        return try await self.asking { () async throws(HookFailure) in
            let answer = try await self.program.ask(question, for: Created.self)
            guard (1...Self.handleLimit).contains(answer.key.utf8.count) else {
                throw .wrong("`key` must have 1 to \(Self.handleLimit) bytes")
            }
            let evidence = try self.evidence(of: answer)
            try self.keep(answer.key)
            return evidence
        }
    }

    private func evidence(of answer: Created) throws(HookFailure) -> DeviceEvidence {
        switch self.device.platform {
        case .android:
            guard let texts = answer.chain, (1...100).contains(texts.count) else {
                throw .wrong("`chain` must be a list of certificates, leaf first")
            }
            var chain: [[UInt8]] = []
            for text in texts { chain.append(try Self.bytes(text, "chain", 1...Int.max)) }
            return .android(chain)
        case .iOS:
            return .apple(
                object: try Self.bytes(answer.object, "object", 1...Int.max),
                keyID: try Self.bytes(answer.keyID, "key_id", 32...32)
            )
        }
    }

    /// Returns a signature or an assertion made with the current key.
    func prove(_ statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        guard let handle = try self.handle() else { throw .noKey }
        var question = self.question(self.device.platform == .iOS ? "assert" : "sign")
        question.key = handle
        question.statement = Self.text(statement)
        let isAndroid = self.device.platform == .android
        return try await self.asking { () async throws(HookFailure) in
            let answer = try await self.program.ask(question, for: Proved.self)
            // An Android signature has the form r‖s. The length of an iOS assertion is limited by the protocol.
            return isAndroid
                ? try Self.bytes(answer.signature, "signature", 64...64)
                : try Self.bytes(answer.assertion, "assertion", 1...1024)
        }
    }

    /// Removes the key's name from the device's folder, then tells the program to delete the key.
    ///
    /// The second step is best effort. If the program fails, this is only reported.
    func delete() async throws(DeviceError) {
        guard let handle = try self.handle() else { return }
        try self.device.files.remove(.keyHandle)
        var question = self.question("delete")
        question.key = handle
        do throws(HookFailure) {
            _ = try await self.program.ask(question, for: Deleted.self)
        } catch {
            self.report("key hook: \(error)")
        }
    }

    /// Returns the name that the program gave the current key, or nil if there is no key.
    func handle() throws(DeviceError) -> String? {
        guard let bytes = try self.device.files.read(.keyHandle, atMost: Self.handleLimit) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func keep(_ handle: String) throws(HookFailure) {
        try mapError(self.device.files.write(Array(handle.utf8), to: .keyHandle)) { (error: DeviceError) in
            HookFailure.wrong("\(error)")
        }
    }

    private func question(_ operation: String) -> Question {
        Question(operation: operation, platform: self.device.platform.rawValue, appID: self.device.appID)
    }

    private func asking<Result>(_ body: () async throws(HookFailure) -> Result) async throws(DeviceError) -> Result {
        do throws(HookFailure) {
            return try await body()
        } catch {
            self.report("key hook: \(error)")
            throw .storage("key hook: \(error)")
        }
    }

    private static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    private static func bytes(
        _ text: String?,
        _ name: String,
        _ lengths: ClosedRange<Int>
    ) throws(HookFailure) -> [UInt8] {
        guard let text else { throw .wrong("`\(name)` is missing") }
        guard let data = Data(base64Encoded: text) else { throw .wrong("`\(name)` is not base64") }
        guard lengths.contains(data.count) else {
            let (least, most) = (lengths.lowerBound, lengths.upperBound)
            let expected = least == most ? "\(least)" : most == .max ? "at least \(least)" : "\(least) to \(most)"
            throw .wrong("`\(name)` has \(data.count) bytes; expected \(expected)")
        }
        return Array(data)
    }
}

/// A program that answers instead of a system prompt.
///
/// The program is not run if the result only depends on the phone's state, for example because the screen is locked or
/// nothing is enrolled. If the program fails, the prompt counts as dismissed. The user can try again, so a broken hook
/// neither unlocks anything nor forces a reset.
struct BiometricHook: PromptResponder {
    let program: HookProgram
    let device: SimulatedDevice
    let report: @Sendable (String) -> Void

    private struct Question: Encodable {
        let hook = "biometric"
        let purpose: String
        let accepts: String
        let biometrics: String
        let platform: String
        let presentation: String
    }

    private struct Reply: Decodable {
        let result: String
    }

    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        let profile = self.device.profile
        if let result = PromptRules(profile: profile, mismatches: 0).resultWithoutAsking(prompt) { return result }
        let question = Question(
            purpose: prompt.purpose.rawValue,
            accepts: prompt.accepts.rawValue,
            biometrics: profile.usableBiometrics.rawValue,
            platform: profile.platform.rawValue,
            presentation: presentation.rawValue
        )
        do throws(HookFailure) {
            let word = try await self.program.ask(question, for: Reply.self).result
            guard let result = PromptResult(rawValue: word) else {
                let names = PromptResult.allCases.map(\.rawValue).joined(separator: ", ")
                throw .wrong("`result` must be one of \(names)")
            }
            return result
        } catch {
            self.report("biometric hook: \(error)")
            return .cancelled
        }
    }
}

/// An issuer implemented by a program.
///
/// If the program fails, the user cannot be identified.
package struct HookedIssuer: PIDIssuer {
    private let program: HookProgram
    private let device: SimulatedDevice
    private let report: @Sendable (String) -> Void

    package init?(for device: SimulatedDevice, _ hooks: DeviceHooks) {
        guard let command = hooks.issuer else { return nil }
        self.program = HookProgram(kind: .issuer, command: command)
        self.device = device
        self.report = hooks.report
    }

    private struct Question: Encodable {
        let hook = "issuer"
        let platform: String
    }

    private struct Reply: Decodable {
        let result: String
        let recoveryCode: String?

        private enum CodingKeys: String, CodingKey {
            case result
            case recoveryCode = "recovery_code"
        }
    }

    package func obtain() async -> RecoveryCode? {
        do throws(HookFailure) {
            let question = Question(platform: self.device.platform.rawValue)
            let reply = try await self.program.ask(question, for: Reply.self)
            switch reply.result {
            case "obtained":
                let code = reply.recoveryCode ?? ""
                return try mapError(RecoveryCode(reading: code.utf8)) { (problem: SecretTextProblem) in
                    HookFailure.wrong("`recovery_code` \(problem)")
                }
            case "cancelled", "failed": return nil
            default: throw .wrong("`result` must be one of obtained, cancelled, failed")
            }
        } catch {
            self.report("issuer hook: \(error)")
            return nil
        }
    }
}
