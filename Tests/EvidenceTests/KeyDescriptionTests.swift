import Evidence
import TestSupport
import Testing

@Suite("Android key descriptions, written and read")
struct KeyDescriptionTests {
    private static let application = ApplicationID(
        packages: [ApplicationID.Package(name: "org.example.wallet", version: 100)],
        signatureDigests: [Array(repeating: 7, count: 32)]
    )
    private static let root = RootOfTrust(
        verifiedBootKey: [1, 2],
        isDeviceLocked: true,
        verifiedBootState: .verified,
        verifiedBootHash: [3]
    )

    private func description(_ hardware: [AuthorizationList.Entry]) -> KeyDescription {
        KeyDescription(
            version: 300,
            securityLevel: .strongBox,
            challenge: [9, 9],
            softwareEnforced: AuthorizationList([
                .init(701, .integer(1_700_000_000_000)), .init(709, .application(Self.application)),
            ]),
            hardwareEnforced: AuthorizationList(hardware)
        )
    }

    @Test("a description is read as it was written, including unknown tags and their order")
    func roundTrip() throws {
        let description = self.description([
            .init(1, .integers([2, 3])), .init(503, .present), .init(502, .integer(Int128(UInt64.max))),
            .init(704, .rootOfTrust(Self.root)), .init(717, .text(Array("Pixel".utf8))),
            .init(4242, .unknown([0x02, 0x01, 0x05])), .init(706, .integer(202_610)),
        ])
        let copy = try KeyDescription(decoding: description.encoded)
        #expect(copy == description)
        #expect(copy.application == Self.application)
        #expect(copy.hardwareEnforced.rootOfTrust == Self.root)
        #expect(copy.hardwareEnforced.integer(.osPatchLevel) == 202_610)
        #expect(copy.hardwareEnforced.text(.attestationIDModel) == "Pixel")
    }

    @Test("a repeated tag is rejected, because two readers could see two devices")
    func duplicateTag() {
        var unlocked = Self.root
        unlocked.isDeviceLocked = false
        let description = self.description([.init(704, .rootOfTrust(Self.root)), .init(704, .rootOfTrust(unlocked))])
        #expect(throws: DERError.self) { try KeyDescription(decoding: description.encoded) }
    }

    @Test(
        "a value of another type than its tag's is rejected",
        arguments: [
            AuthorizationList.Entry(706, .present), .init(1, .integer(2)), .init(503, .integer(0)),
            .init(704, .bytes([1])), .init(709, .bytes([1, 2, 3])), .init(717, .integer(1)),
        ]
    )
    func wrongType(entry: AuthorizationList.Entry) {
        #expect(throws: DERError.self) { try KeyDescription(decoding: self.description([entry]).encoded) }
    }

    @Test("a description with trailing or missing bytes is rejected")
    func cut() {
        let encoded = self.description([.init(704, .rootOfTrust(Self.root))]).encoded
        #expect(throws: DERError.self) { try KeyDescription(decoding: encoded + [5, 0]) }
        for count in 0..<encoded.count {
            #expect(throws: DERError.self) { try KeyDescription(decoding: Array(encoded.prefix(count))) }
        }
    }

    @Test("unknown levels and states are distinguished from known ones")
    func unknownNumbers() {
        #expect(SecurityLevel(number: 3) == .unknown(3))
        #expect(VerifiedBootState(number: 4) == .unknown(4))
        #expect((0...3).allSatisfy { VerifiedBootState(number: $0).number == $0 })
        #expect((0...2).allSatisfy { SecurityLevel(number: $0).number == $0 })
    }

    @Test("changed bytes are read or rejected, and never end the process", arguments: 1...4 as ClosedRange<UInt64>)
    func mutations(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let encoded = self.description([.init(704, .rootOfTrust(Self.root))]).encoded
        for _ in 0..<1000 {
            var changed = encoded
            changed[Int.random(in: 0..<changed.count, using: &generator)] = .random(
                in: .min ... .max,
                using: &generator
            )
            _ = try? KeyDescription(decoding: changed)
        }
    }
}
