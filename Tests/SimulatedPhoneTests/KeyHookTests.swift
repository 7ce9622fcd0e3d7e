import AttestationVerifier
import Evidence
import FoundationEssentials
import Testing
import Vocabulary

import WalletFlows

@testable import SimulatedPhone

/// Tests with programs that answer with the evidence of a second simulated phone, as a real phone
/// in a lab would.
@Suite("Hooks for the hardware key")
struct KeyHookTests {
    private let bench: HookBench

    init() throws {
        self.bench = try HookBench()
    }

    /// A program that answers each operation with the file of its name and stores each question.
    private static let answering = #"""
        question=$(cat)
        for operation in create sign assert delete; do
            case "$question" in *"\"operation\":\"$operation\""*)
                echo "$question" > "$FOLDER/asked-$operation"
                cat "$FOLDER/$operation" ;;
            esac
        done
        """#

    private func device(_ phone: SimulatedDevice, _ lines: String = Self.answering) throws -> HookedDevice {
        HookedDevice(phone, self.bench.hooks(key: try self.bench.program(lines)))
    }

    private func source(_ platform: Platform) throws -> SimulatedDevice {
        try SimulatedDevice(
            folder: self.bench.folder + "/source",
            authorityFolder: self.bench.lab.folder + "/authority",
            clock: LabBench.Clock(),
            new: DeviceProfile(platform)
        )
    }

    private func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Writes the answers of an attested key, and returns its proof.
    private func prepare(_ platform: Platform, statement: [UInt8]) async throws -> [UInt8] {
        let source = try self.source(platform)
        switch try await source.createKey(challenge: self.bench.lab.challenge) {
        case .android(let chain):
            let texts = chain.map { "\"\(self.base64($0))\"" }.joined(separator: ",")
            try self.bench.write(#"{"key":"slot 7","chain":[\#(texts)]}"#, to: "create")
        case .apple(let object, let keyID):
            try self.bench.write(
                #"{"key":"slot 7","object":"\#(self.base64(object))","key_id":"\#(self.base64(keyID))"}"#,
                to: "create"
            )
        }
        let proof = try await source.prove(statement: statement)
        try self.bench.write(#"{"signature":"\#(self.base64(proof))"}"#, to: "sign")
        try self.bench.write(#"{"assertion":"\#(self.base64(proof))"}"#, to: "assert")
        try self.bench.write("{}", to: "delete")
        return proof
    }

    @Test("the hook's evidence passes the server's verifier and its proofs are returned", arguments: Platform.allCases)
    func life(platform: Platform) async throws {
        let proof = try await self.prepare(platform, statement: [1, 2, 3])
        let phone = try self.bench.phone(platform)
        let device = try self.device(phone)
        #expect(!device.hasKey)
        await #expect(throws: DeviceError.noKey) { try await device.prove(statement: [1, 2, 3]) }
        let evidence = try await device.createKey(challenge: self.bench.lab.challenge)
        #expect(try self.bench.lab.verify(evidence).get().platform == platform)
        let created = try #require(self.bench.text("asked-create"))
        #expect(created.contains("\"challenge\":\"\(self.base64(self.bench.lab.challenge.bytes))\""), "\(created)")
        #expect(device.hasKey && !phone.hasKey)

        let next = try self.device(self.bench.phone(platform))
        #expect(next.hasKey)
        #expect(try await next.prove(statement: [1, 2, 3]) == proof)
        let asked = try #require(self.bench.text(platform == .iOS ? "asked-assert" : "asked-sign"))
        #expect(asked.contains(#""key":"slot 7""#) && asked.contains(#""statement":"AQID""#))

        _ = try await next.createKey(challenge: self.bench.lab.challenge)
        #expect(try #require(self.bench.text("asked-create")).contains(#""replaces":"slot 7""#))
        try await next.deleteKey()
        try await next.deleteKey()
        #expect(!next.hasKey)
        #expect(try #require(self.bench.text("asked-delete")).contains(#""key":"slot 7""#))
        #expect(self.bench.reported.isEmpty)
    }

    @Test("evidence for another challenge is returned unchanged, and the server's verifier rejects it")
    func judged() async throws {
        _ = try await self.prepare(.android, statement: [1])
        let device = try self.device(self.bench.phone())
        let evidence = try await device.createKey(challenge: sha256([9]))
        guard case .android(let chain) = evidence else {
            Issue.record("\(evidence)")
            return
        }
        let verifier = self.bench.lab.verifier
        guard
            case .failure(let refusal) = verifier.verify(
                android: chain,
                challenge: sha256([9]),
                at: LabBench.Clock().now()
            )
        else {
            Issue.record("accepted")
            return
        }
        #expect(refusal == .challengeMismatch)
    }

    @Test("a restore to another phone does not include the key")
    func restore() async throws {
        _ = try await self.prepare(.android, statement: [1])
        let phone = try self.bench.phone()
        let device = try self.device(phone)
        _ = try await device.createKey(challenge: self.bench.lab.challenge)
        try phone.moveToAnotherPhone()
        #expect(!device.hasKey)
    }

    struct Wrong: Sendable {
        var platform = Platform.android
        let answer: String
        let reported: String
    }

    @Test(
        "invalid evidence is a device error with a message, and no key is stored",
        arguments: [
            Wrong(answer: #"{"key":"a"}"#, reported: "`chain` must be a list"),
            Wrong(answer: #"{"key":"a","chain":[]}"#, reported: "`chain` must be a list"),
            Wrong(answer: #"{"key":"a","chain":["%%"]}"#, reported: "`chain` is not base64"),
            Wrong(answer: #"{"key":"a","chain":[""]}"#, reported: "`chain` has 0 bytes"),
            Wrong(answer: #"{"key":"a","chain":"AQ=="}"#, reported: "missing or invalid field"),
            Wrong(answer: #"{"key":"","chain":["AQ=="]}"#, reported: "`key` must have"),
            Wrong(answer: #"{"chain":["AQ=="]}"#, reported: "missing or invalid field"),
            Wrong(answer: "no", reported: "not one JSON object"),
            Wrong(platform: .iOS, answer: #"{"key":"a","object":"AQ=="}"#, reported: "`key_id` is missing"),
            Wrong(platform: .iOS, answer: #"{"key":"a","key_id":"AQ=="}"#, reported: "`object` is missing"),
            Wrong(
                platform: .iOS,
                answer: #"{"key":"a","object":"AQ==","key_id":"AQ=="}"#,
                reported: "`key_id` has 1 bytes"
            ),
        ]
    )
    func wrongEvidence(_ item: Wrong) async throws {
        try self.bench.write(item.answer, to: "create")
        let device = try self.device(self.bench.phone(item.platform))
        await #expect(throws: DeviceError.self) { try await device.createKey(challenge: self.bench.lab.challenge) }
        #expect(!device.hasKey)
        #expect(self.bench.reported.first?.contains(item.reported) ?? false, "\(self.bench.reported)")
    }

    @Test(
        "an invalid proof is a device error, and the key remains",
        arguments: [
            Wrong(answer: #"{"signature":"AQ=="}"#, reported: "`signature` has 1 bytes"),
            Wrong(answer: #"{"assertion":"AQ=="}"#, reported: "`signature` is missing"),
            Wrong(answer: #"{"signature":"-"}"#, reported: "`signature` is not base64"),
            Wrong(platform: .iOS, answer: #"{"assertion":""}"#, reported: "`assertion` has 0 bytes"),
            Wrong(
                platform: .iOS,
                answer: #"{"assertion":"\#(Data(repeating: 1, count: 1025).base64EncodedString())"}"#,
                reported: "`assertion` has 1025 bytes"
            ),
        ]
    )
    func wrongProof(_ item: Wrong) async throws {
        _ = try await self.prepare(item.platform, statement: [1])
        let device = try self.device(self.bench.phone(item.platform))
        _ = try await device.createKey(challenge: self.bench.lab.challenge)
        try self.bench.write(item.answer, to: item.platform == .iOS ? "assert" : "sign")
        await #expect(throws: DeviceError.self) { try await device.prove(statement: [1]) }
        #expect(device.hasKey)
        #expect(self.bench.reported.first?.contains(item.reported) ?? false, "\(self.bench.reported)")
    }

    @Test("a failed replacement keeps the current key, and a failed deletion does not")
    func failing() async throws {
        _ = try await self.prepare(.android, statement: [1])
        let phone = try self.bench.phone()
        _ = try await self.device(phone).createKey(challenge: self.bench.lab.challenge)
        let failing = try self.device(phone, "exit 9")
        await #expect(throws: DeviceError.self) { try await failing.createKey(challenge: self.bench.lab.challenge) }
        #expect(failing.hasKey)
        try await failing.deleteKey()
        #expect(!failing.hasKey)
        #expect(self.bench.reported.count == 2)
    }
}
