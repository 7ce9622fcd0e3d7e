import Foundation
import TestSupport
import Testing

@Suite("The secret scanner for logs")
struct SecretScannerTests {
    private static let key: [UInt8] = (0..<32).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
    private static let pin = "024791"
    private static let code = "7K3M-9QXZ-00AB-CDEF-5W"

    private static var scanner: SecretScanner {
        var scanner = SecretScanner()
        scanner.add("key", Self.key)
        scanner.add("PIN", word: Self.pin)
        scanner.add("code", word: Self.code)
        return scanner
    }

    /// Encodings in which a secret could reach a log.
    private static let plants: [String] = {
        let digits = Self.key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let around = [1, 2, 3].map { Data([UInt8](repeating: 7, count: $0) + Self.key + [1]).base64EncodedString() }
        let url = Data(Self.key).base64EncodedString().replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "+", with: "-")
        return around + [
            digits, digits.uppercased(), Data(Self.key).base64EncodedString(), url, "\(Self.key)", "pin=\(Self.pin)",
            "entered \(Self.pin).", Data(Self.pin.utf8).base64EncodedString(), "\(Array(Self.pin.utf8))",
            Self.code, "code \(Self.code)!",
        ]
    }()

    @Test("a planted secret is found in every encoding", arguments: Self.plants)
    func planted(form: String) throws {
        let fields = ["time": "2026-11-21T16:00:00.000Z", "level": "debug", "message": "m", "value": form]
        let line = String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
        #expect(!Self.scanner.findings(inLines: line + "\n").isEmpty)
        #expect(!Self.scanner.findings(in: "some text \(form) and more").isEmpty)
    }

    @Test(
        "an unregistered secret is found by its shape",
        arguments: [
            "9f31c04b7a00000312cd9f31c04b7a00000312cd9f31c04b", "dGhpcyBpcyBhIGxvbmcgc2VjcmV0IHRoYXQgbm9ib2R5IGtub3dz",
            "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]", "H4XZ-9QXZ-00AB-CDEF-5W", "H4XZ9QXZ00ABCDEF5W",
        ]
    )
    func shapes(form: String) throws {
        let line = String(decoding: try JSONEncoder().encode(["message": "m", "value": form]), as: UTF8.self)
        #expect(SecretScanner().findings(inLines: line + "\n").count == 1)
    }

    @Test("a regular line with ids, times and numbers yields no finding")
    func ordinary() throws {
        let fields = [
            "time": "2026-11-21T16:27:07.024Z", "message": "refused", "correlation": "9f31c04b7a000003",
            "wallet": "0123456789abcdef0123456789abcdef", "reason": "authentication failed: PIN signature",
            "remainingMs": "300000", "peer": "127.0.0.1:43009", "count": "1024791",
        ]
        let line = String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
        #expect(Self.scanner.findings(inLines: line + "\n" + line + "\n").isEmpty)
        #expect(Self.scanner.findings(in: "m_sum 0.024791\nm_total 1024791\n").isEmpty)
        #expect(!Self.scanner.findings(inLines: "not JSON\n").isEmpty)
    }
}
