import Testing
import Vocabulary
import Wire

/// A request with id 7 and the call in field `field`, encoded by hand.
private func request(_ field: UInt64, _ fill: (inout ProtoWriter) -> Void) -> [UInt8] {
    ProtoWriter.message {
        $0.number(1, 7)
        $0.message(field, fill)
    }
}

private func hello(app: String = "1.0", platform: UInt64 = 1, os: String = "15") -> [UInt8] {
    request(2) {
        $0.text(1, app)
        $0.number(2, platform)
        $0.text(3, os)
    }
}

private func register(token: Int = 10, signature: Int = 64, proof: Int = 64) -> [UInt8] {
    request(4) {
        $0.bytes(1, Samples.bytes(token))
        $0.bytes(2, [1, 2, 3])
        $0.bytes(3, Samples.bytes(signature))
        $0.bytes(4, Samples.bytes(proof))
    }
}

private func openSession(wallet: Int = 16, proof: Int = 1024) -> [UInt8] {
    request(5) {
        $0.bytes(1, Samples.bytes(wallet))
        $0.bytes(3, Samples.bytes(proof))
    }
}

private func instruct(counter: UInt64 = 1, signature: Int = 64, newSignature: Int = 0) -> [UInt8] {
    request(6) {
        $0.number(1, counter)
        $0.bytes(2, [])
        $0.bytes(3, Samples.bytes(signature))
        $0.bytes(4, Samples.bytes(newSignature))
    }
}

private let forged = String(repeating: "x", count: 60)

private func revoke(_ code: String) -> [UInt8] {
    request(7) { $0.text(1, code) }
}

@Suite("Malformed requests from a hostile peer")
struct MalformedMessageTests {
    @Test(
        "each value with a wrong length or range is rejected with its own reason and the id of its call",
        arguments: [
            (hello(app: ""), .appVersion), (hello(app: "1.x"), .appVersion),
            (hello(app: String(repeating: "1", count: 33)), .appVersion),
            (hello(platform: 0), .platform), (hello(platform: 9), .platform),
            (hello(os: ""), .osVersion), (hello(os: "15\u{7}"), .osVersion),
            (hello(os: String(repeating: "x", count: 33)), .osVersion),
            (register(token: 0), .token), (register(token: 257), .token),
            (register(signature: 63), .pinSignature), (register(signature: 65), .pinSignature),
            (register(proof: 0), .deviceProof), (register(proof: 1025), .deviceProof),
            (openSession(wallet: 15), .walletID), (openSession(wallet: 17), .walletID),
            (openSession(proof: 1025), .deviceProof),
            (instruct(counter: 0), .counter), (instruct(signature: 0), .pinSignature),
            (instruct(newSignature: 63), .newPINSignature),
            (revoke(String(repeating: "0", count: 17)), .deletionCode),
            (revoke(String(repeating: "0", count: 65)), .deletionCode),
            (request(7) { $0.bytes(1, Samples.bytes(20)) }, .text), (hello(app: "1.0\0" + forged), .text),
        ] as [([UInt8], WireField)]
    )
    func invalid(frame: [UInt8], field: WireField) {
        #expect(throws: WireError.invalid(field, id: 7)) { try Request(decoding: frame) }
    }

    @Test(
        "the same values at the limits of their ranges are accepted",
        arguments: [
            hello(app: "1"), hello(platform: 2), hello(os: String(repeating: "x", count: 32)), register(token: 1),
            register(token: 256), register(proof: 1), register(proof: 1024), openSession(), instruct(counter: .max),
            instruct(newSignature: 64), revoke(String(repeating: "0", count: 18)),
            revoke(String(repeating: "-", count: 64)),
        ]
    )
    func valid(frame: [UInt8]) throws {
        #expect(try Request(decoding: frame).id == 7)
    }

    @Test(
        "bytes that are not the message are rejected",
        arguments: [
            [0x0A], [0x0A, 0x7F], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x12, 0x03, 0x0A, 0x05, 0x31], [0x00], [0x07],
        ]
    )
    func notProtobuf(frame: [UInt8]) {
        #expect(throws: WireError.notProtobuf) { try Request(decoding: frame) }
    }

    @Test("a request without a call, or with the call of a newer client, decodes to an unknown call with its id")
    func unknownCall() throws {
        let frames = [ProtoWriter.message { $0.number(1, 7) }, request(14) { $0.text(1, "later") }]
        for frame in frames {
            let request = try Request(decoding: frame)
            #expect(request.id == 7)
            guard case .unknown = request.call else {
                Issue.record("wrong call")
                continue
            }
        }
    }

    @Test("up to 100 fields of a newer client are ignored outside a signed body", arguments: [1, 100])
    func ignored(count: Int) throws {
        let frame = request(2) {
            $0.text(1, "1.0")
            $0.number(2, 1)
            $0.text(3, "15")
            for field in 0..<count { $0.text(UInt64(90 + field), "") }
        }
        guard case .hello(let hello) = try Request(decoding: frame).call else {
            Issue.record("wrong call")
            return
        }
        #expect(hello.platform == .android)
    }

    @Test("an error code that this version does not know is a protocol error", arguments: [0, 14, 9999] as [UInt64])
    func unknownErrorCode(code: UInt64) {
        let response = ProtoWriter.message {
            $0.number(1, 7)
            $0.message(15) { $0.number(1, code) }
        }
        #expect(throws: WireError.invalid(.error, id: 7)) { try Response(decoding: response) }
    }

    @Test("the counts of a session have a fixed length", arguments: [nil, 0, 25, 27] as [Int?])
    func attemptCounts(byteCount: Int?) {
        let response = ProtoWriter.message {
            $0.number(1, 7)
            $0.message(5) {
                $0.message(1) {
                    $0.bytes(1, Samples.bytes(16))
                    $0.message(2) { $0.message(1) { $0.number(1, 4) } }
                    $0.message(3) { _ in }
                    if let byteCount { $0.bytes(7, Samples.bytes(byteCount)) }
                }
            }
        }
        #expect(throws: WireError.invalid(.attempts, id: 7)) { try Response(decoding: response) }
    }

    @Test("a block of a policy has a length")
    func emptyBlock() throws {
        func hello(block: UInt64) -> [UInt8] {
            ProtoWriter.message {
                $0.number(1, 7)
                $0.message(2) {
                    $0.number(1, 1_795_000_000_000)
                    $0.message(2) { $0.number(1, 1) }
                    $0.number(3, 6)
                    $0.message(4) {
                        $0.number(1, 2)
                        $0.number(2, 2)
                        $0.number(3, block)
                    }
                    $0.message(5) { _ in }
                    $0.number(6, 1)
                    $0.message(7) {
                        $0.number(1, 16)
                        $0.number(2, 900_000)
                        $0.number(3, 300_000)
                    }
                }
            }
        }
        #expect(throws: WireError.invalid(.policy, id: 7)) { try Response(decoding: hello(block: 0)) }
        _ = try Response(decoding: hello(block: 1))
    }

    @Test("a response without a result is rejected with its id")
    func emptyResponse() {
        #expect(throws: WireError.missing(.result, id: 7)) { try Response(decoding: [0x08, 0x07]) }
    }

    @Test(
        "the texts of a refusal are visible ASCII without terminal control sequences",
        arguments: ["\u{1B}[2J", "a b", "a\n", "a\u{7F}", "é", "\u{9B}2J", String(repeating: "x", count: 65)]
    )
    func refusalText(text: String) {
        func response(_ fill: (inout ProtoWriter) -> Void) -> [UInt8] {
            ProtoWriter.message {
                $0.number(1, 7)
                $0.message(15, fill)
            }
        }
        let named = response {
            $0.number(1, 13)
            $0.text(2, text)
        }
        #expect(throws: WireError.invalid(.correlationID, id: 7)) { try Response(decoding: named) }
        let explained = response {
            $0.number(1, 7)
            $0.text(3, text)
        }
        #expect(throws: WireError.invalid(.reason, id: 7)) { try Response(decoding: explained) }
    }
}
