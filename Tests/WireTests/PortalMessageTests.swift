import Testing
import Vocabulary
import Wire

@Suite("Messages of the deletion portal")
struct PortalMessageTests {
    @Test("every request and result decodes to the encoded value, and no code is printed")
    func roundTrip() throws {
        for (code, source) in [
            ("4K7W-9Q2M-XH3T-0B8R-1Z", "192.0.2.1"), ("x", "::"), (String(repeating: "é", count: 32), "2001:db8::"),
        ] {
            let request = PortalRequest(id: 7 << 40, code: code, source: source)
            #expect(try PortalRequest(decoding: request.encoded()) == request)
            #expect(!"\(request) \(String(reflecting: request))".contains(code) || code == "x")
        }
        for result in [
            PortalResult.revoked(at: Timestamp(milliseconds: 1_795_000_000_000)), .notRecognised,
            .rateLimited(retryAfter: .seconds(1)), .unavailable(retryAfter: .zero), .malformed,
        ] {
            let response = PortalResponse(id: 9, result: result)
            #expect(try PortalResponse(decoding: response.encoded()) == response)
        }
        let long = PortalResponse(id: 1, result: .unavailable(retryAfter: .seconds(900_000)))
        #expect(
            try PortalResponse(decoding: long.encoded()).result == .unavailable(retryAfter: PortalResult.longestWait)
        )
    }

    @Test("values out of range are rejected with the id of the request")
    func ranges() {
        for (code, source, field) in [
            ("", "192.0.2.1", WireField.deletionCode), (String(repeating: "A", count: 65), "192.0.2.1", .deletionCode),
            ("A", "", .source), ("A", ":", .source), ("A", String(repeating: "1", count: 46), .source),
        ] {
            let bytes = PortalRequest(id: 5, code: code, source: source).encoded()
            #expect(throws: WireError.invalid(field, id: 5)) { try PortalRequest(decoding: bytes) }
        }
        #expect(throws: WireError.notProtobuf) { try PortalRequest(decoding: [0xFF]) }
        // PortalResponse { id: 3 } without a result, as from a newer server with further results.
        #expect(throws: WireError.missing(.result, id: 3)) { try PortalResponse(decoding: [0x08, 0x03]) }
    }
}
