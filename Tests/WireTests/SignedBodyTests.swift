import Testing
import Wire

/// Encodes an InstructBody by hand; without an instruction if it is nil.
private func instructBody(
    attempt: Int = 16,
    key: Int = 65,
    firstKeyByte: UInt8 = 4,
    instruction: (field: UInt64, content: [UInt8])? = (4, []),
    extra: Bool = false
) -> [UInt8] {
    ProtoWriter.message {
        $0.bytes(1, Samples.bytes(attempt))
        $0.bytes(2, Samples.bytes(16))
        $0.bytes(3, [firstKeyByte] + Samples.bytes(key - 1))
        if let instruction { $0.bytes(instruction.field, instruction.content) }
        if extra { $0.number(50, 1) }
    }
}

/// The instruction that links a recovery code.
private func link(_ code: String) -> (field: UInt64, content: [UInt8])? {
    (6, ProtoWriter.message { $0.text(1, code) })
}

private func registerBody(
    android: [[UInt8]]? = nil,
    apple: [UInt8]? = nil,
    device: [UInt8]? = deviceFacts(),
    extra: Bool = false
) -> [UInt8] {
    ProtoWriter.message {
        $0.bytes(1, [4] + Samples.bytes(64))
        $0.bytes(2, Samples.bytes(16))
        if let android {
            $0.message(3) { message in for certificate in android { message.bytes(1, certificate) } }
        }
        if let apple { $0.bytes(4, apple) }
        if let device { $0.bytes(5, device) }
        if extra { $0.number(50, 1) }
    }
}

private func deviceFacts(model: String = "Pixel", extra: Bool = false) -> [UInt8] {
    ProtoWriter.message {
        $0.text(1, "1.0")
        $0.text(2, "15")
        $0.text(3, model)
        if extra { $0.number(50, 1) }
    }
}

private func apple(object: Int = 100, keyID: Int = 32, extra: Bool = false) -> [UInt8] {
    ProtoWriter.message {
        $0.bytes(1, Samples.bytes(object))
        $0.bytes(2, Samples.bytes(keyID))
        if extra { $0.number(50, 1) }
    }
}

@Suite("Signed bodies")
struct SignedBodyTests {
    private static let chain = [Samples.bytes(10), Samples.bytes(10)]
    private static let extra: [UInt8] = ProtoWriter.message { $0.number(50, 1) }
    private static let change = ProtoWriter.message {
        $0.bytes(1, [4] + Samples.bytes(64))
        $0.bytes(2, Samples.bytes(16))
    }

    @Test(
        "each invalid value of an instruction is rejected with its own reason",
        arguments: [
            (instructBody(attempt: 15), .invalid(.attemptID, id: nil)),
            (instructBody(key: 66), .invalid(.candidatePublicKey, id: nil)),
            (instructBody(firstKeyByte: 2), .invalid(.candidatePublicKey, id: nil)),
            (instructBody(instruction: (5, [])), .invalid(.newPublicKey, id: nil)),
            (instructBody(instruction: (6, [])), .invalid(.recoveryCode, id: nil)),
            (
                instructBody(instruction: (6, ProtoWriter.message { $0.bytes(1, Samples.bytes(129)) })),
                .invalid(.recoveryCode, id: nil)
            ),
            (instructBody(instruction: link("person 77")), .invalid(.recoveryCode, id: nil)),
            (instructBody(instruction: link("person-77\n")), .invalid(.recoveryCode, id: nil)),
            (instructBody(instruction: link("José-1")), .invalid(.recoveryCode, id: nil)),
            (instructBody(instruction: link("\u{FEFF}person-77")), .invalid(.recoveryCode, id: nil)),
            (instructBody(instruction: link("person-77\0")), .invalid(.recoveryCode, id: nil)),
            (instructBody(instruction: nil), .missing(.instruction, id: nil)),
            (instructBody(instruction: (14, [])), .unknownInstruction),
            (instructBody(extra: true), .unknownField),
            (instructBody(instruction: (4, Self.extra)), .unknownField),
            (instructBody(instruction: (5, Self.change + Self.extra)), .unknownField),
            (instructBody(instruction: (6, Self.extra)), .unknownField),
            (instructBody(instruction: (7, Self.extra)), .unknownField),
            ([0xFF], .notProtobuf),
        ] as [([UInt8], WireError)]
    )
    func instruct(body: [UInt8], reason: WireError) {
        #expect(throws: reason) { try InstructBody(decoding: body) }
    }

    @Test(
        "each invalid value of a registration is rejected with its own reason",
        arguments: [
            (registerBody(), .missing(.attestation, id: nil)),
            (registerBody(android: []), .invalid(.certificates, id: nil)),
            (registerBody(android: Array(repeating: [1], count: 65)), .invalid(.certificates, id: nil)),
            (registerBody(android: [[], [1]]), .invalid(.certificates, id: nil)),
            (registerBody(android: [Samples.bytes(32_768), Samples.bytes(32_769)]), .invalid(.certificates, id: nil)),
            (registerBody(apple: apple(object: 0)), .invalid(.attestationObject, id: nil)),
            (registerBody(apple: apple(object: 65_537)), .invalid(.attestationObject, id: nil)),
            (registerBody(apple: apple(keyID: 31)), .invalid(.keyID, id: nil)),
            (registerBody(android: Self.chain, device: nil), .missing(.deviceFacts, id: nil)),
            (registerBody(android: Self.chain, device: deviceFacts(model: "é")), .invalid(.model, id: nil)),
            (registerBody(android: Self.chain, extra: true), .unknownField),
            (registerBody(apple: apple(extra: true)), .unknownField),
            (registerBody(android: Self.chain, device: deviceFacts(extra: true)), .unknownField),
        ] as [([UInt8], WireError)]
    )
    func register(body: [UInt8], reason: WireError) {
        #expect(throws: reason) { try RegisterBody(decoding: body) }
    }

    @Test("the body of a session with an unknown field is rejected")
    func session() {
        let body = ProtoWriter.message {
            $0.text(1, "1.0")
            $0.text(2, "15")
            $0.number(50, 1)
        }
        #expect(throws: WireError.unknownField) { try OpenSessionBody(decoding: body) }
    }
}
