import AttestationVerifier
import Foundation
import Testing

@Suite("The reasons of rejections")
struct ReasonTests {
    @Test("docs/attestation.md names each reason with the advice that check-attestation gives")
    func page() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/attestation.md"), encoding: .utf8)
        for refusal in AttestationRefusal.allCases {
            let row = page.split(separator: "\n").first { $0.hasPrefix("| `\(refusal.rawValue)` |") }
            #expect(row?.hasSuffix("| \(refusal.advice) |") == true, "\(refusal.rawValue)")
        }
    }
}
