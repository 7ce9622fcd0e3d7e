import Foundation
import Testing

@testable import WalletFlows

@Suite("Error screens and their causes")
struct ErrorScreenTests {
    private static func failing(with cause: FailureCause) -> AppUnderTest {
        var app = ValidatePINTests.locked()
        app.answer(.failed(.generic(correlationID: "wallet-\(cause.rawValue)-c0ffee00", cause: cause)))
        return app
    }

    @Test(
        "every generic error shows its cause as a value, and the id to quote or the way out",
        arguments: FailureCause.allCases
    )
    func cause(_ cause: FailureCause) {
        var app = Self.failing(with: cause)
        #expect(app.state == .shows("PF2.8/1.1"))
        #expect(app.screen?.title == "Something went wrong")
        #expect(app.value("cause") == .text(cause.rawValue))
        #expect(app.value("correlationID") == .text("wallet-\(cause.rawValue)-c0ffee00"))
        switch cause.wayOut {
        case .retry:
            #expect(app.screen?.message == "Quote this code: wallet-\(cause.rawValue)-c0ffee00")
            #expect(app.screen?.actions.map(\.id) == [.retry, .close])
        case .retryOrReset: #expect(app.screen?.actions.map(\.id) == [.retry, .resetWallet, .close])
        case .reset: #expect(app.screen?.actions.map(\.id) == [.resetWallet, .close])
        }
        guard cause.wayOut != .retry else { return }
        #expect(app.screen?.message.hasSuffix("reset your wallet: all data in it will be deleted.") == true)
        #expect(app.tap(.resetWallet) == .shows("UC9.4/1.1"))
        #expect(app.tap(.cancel) == .shows("PF2.8/1.1"))
    }

    @Test("a wallet that cannot be opened on this device offers the reset")
    func resets() {
        #expect(
            FailureCause.allCases.filter { $0.wayOut == .reset } == [.hardwareKeyMissing, .pinKeyUnknown, .accessData]
        )
        #expect(FailureCause.allCases.filter { $0.wayOut == .retryOrReset } == [.walletUnknown])
    }

    @Test("an unreachable server shows the cause as a value, and the same text for every cause")
    func unreachable() {
        var app = ValidatePINTests.locked()
        app.answer(.failed(.serverUnreachable(notCounted: true, cause: .certificateName)))
        #expect(app.value("cause") == .text("certificate-name"))
        #expect(
            app.screen?.message
                == "The service cannot be reached right now. No attempt was counted against you."
        )
    }

    @Test("docs/wallet-errors.md explains every cause, and no other")
    func document() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/wallet-errors.md")
        let rows = try String(contentsOf: path, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
        let codes = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(codes.sorted() == FailureCause.allCases.map(\.rawValue).sorted())
        for row in rows { #expect(row.split(separator: "|").count == 2, "\(row)") }
    }
}
