import Testing
import Vocabulary

@testable import WalletFlows

@Suite("PF2.7 Resolve a universal link, at launch and at resume")
struct LinkTests {
    static let link = IncomingLink("https://wallet.example.org/link/sharing?session=1")

    @Test("a link passed at launch is accepted after the unlocking (LTC33)")
    func atLaunch() {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.launchToPIN(opening: Self.link)
        #expect(app.events.isEmpty)
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.1"))
        #expect(app.events == [.linkAccepted(kind: .sharing, url: Self.link.url)])
        #expect(
            app.trace.suffix(5) == ["UC2.3/1.5a", "PF2.7/1.1e", "UC2.3/1.6c", "UC2.3/1.7b", "UC7.1/1.1"]
        )
        #expect(app.resume() == .shows("UC7.1/1.1"))
        #expect(app.events.count == 1)
    }

    @Test("a link passed at a resume is accepted, and the screen stays", arguments: LinkKind.allCases)
    func atResume(kind: LinkKind) {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.background()
        let link = IncomingLink("https://wallet.example.org/link/\(kind.rawValue)")
        #expect(app.resume(link) == .shows("UC7.1/1.2"))
        #expect(app.events == [.linkAccepted(kind: kind, url: link.url)])
        #expect(
            app.trace.suffix(6) == [
                "UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2a", "UC1.2/3.3a", "PF2.7/1.1e", "UC1.2/3.4c",
            ]
        )
    }

    @Test("a link for the locked app waits for the PIN")
    func whileLocked() {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.launchToPIN()
        #expect(app.open(Self.link) == .shows("UC2.3/1.3"))
        #expect(app.events.isEmpty)
        app.unlock()
        #expect(app.events.map(\.name) == ["link-accepted"])
    }

    @Test(
        "a URL outside the link base counts as no link (LTC6)",
        arguments: [
            "https://wallet.example.org/link/", "https://wallet.example.org/link/other",
            "https://wallet.example.org/linked/sharing", "https://evil.example.org/link/sharing",
            "http://wallet.example.org/link/sharing", "https://wallet.example.org/link/sharing\u{1B}[2J",
            "https://wallet.example.org/link/sharing/\u{202E}", "", "https://wallet.example.org/link/SHARING",
            "https://wallet.example.org/link/sharing/../../admin/wipe",
            "https://wallet.example.org/link/sharing?" + String(repeating: "a", count: 4096),
        ]
    )
    func invalid(url: String) {
        var app = AppUnderTest.atDashboard()
        #expect(app.resume(IncomingLink(url)) == .shows("UC7.1/1.1"))
        #expect(app.events.isEmpty)
        #expect(app.trace.suffix(2) == ["PF2.7/1.1a", "UC1.2/3.4a"])
    }

    @Test("a base with a trailing slash is the same base, and an empty one has no links")
    func bases() {
        #expect(WalletLink("https://a.example/x/login#1", below: "https://a.example/x/")?.kind == .login)
        #expect(WalletLink("https://a.example/x/login/2", below: "https://a.example/x")?.kind == .login)
        #expect(WalletLink("https://a.example/x/login/2", below: "HTTPS://A.example:443/%78/y/..")?.kind == .login)
        #expect(WalletLink("https://a.example/login", below: "https://a.example")?.kind == .login)
        #expect(WalletLink("/login", below: "") == nil)
        #expect(WalletLink("https://a.example/x/login", below: "https://a.example/x?y=1") == nil)
    }

    @Test(
        "a link from an external scanner must be scanned in the wallet (LTC36)",
        arguments: [(ActionID.close, [String]()), (.scanQRCode, ["scan-requested"])]
    )
    func externalScanner(_ expected: (ActionID, [String])) {
        var app = AppUnderTest.atDashboard()
        #expect(app.resume(IncomingLink(Self.link.url, from: .externalScanner)) == .shows("PF2.7/2.1"))
        #expect(app.screen?.title == "Scan QR code with NL Wallet")
        #expect(app.tap(expected.0) == .shows("UC7.1/1.1"))
        #expect(app.events.map(\.name) == expected.1)
        #expect(app.trace.contains("UC1.2/3.4b"))
    }

    @Test(
        "a running session must be finished first",
        arguments: [
            (HostSession.pinRecovery, "Finish your new PIN"), (.disclosure, "Finish sharing"),
            (.issuance, "Finish adding your card"), (.transfer, "Finish moving your NL Wallet"),
        ]
    )
    func session(_ expected: (HostSession, String)) {
        var app = AppUnderTest.atDashboard()
        app.snapshot.hostSession = expected.0
        #expect(app.open(Self.link) == .shows("PF2.7/4.1"))
        #expect(app.screen?.title == expected.1)
        #expect(app.tap(.ok) == .shows("UC7.1/1.1"))
        #expect(app.events.isEmpty)
    }

    @Test("at a resume without an identity the app resumes, and the link is not resolved later")
    func noIdentityAtResume() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        app.unlock()
        #expect(app.state == .shows("UC3.1/1.1"))
        #expect(app.resume(Self.link) == .shows("UC3.1/1.1"))
        #expect(app.trace.suffix(4) == ["UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2a", "UC1.2/3.3b"])
        app.snapshot.hasPID = true
        #expect(app.resume() == .shows("UC3.1/1.1"))
        #expect(app.events.isEmpty && !app.trace.contains("PF2.7/1.1c"))
    }

    @Test("at a launch without an identity the wallet is not ready (LTC69)")
    func noIdentity() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN(opening: Self.link)
        app.unlock()
        #expect(app.state == .shows("PF2.7/3.1"))
        #expect(app.screen?.title == "Your NL Wallet is not ready")
        #expect(app.trace.contains("PF2.7/1.1c"))
        #expect(app.tap(.ok) == .shows("UC3.1/1.1"))
        #expect(!app.trace.contains("UC1.2/3.4b"))
    }

    @Test("the checks run in the order a, b, d, c, e")
    func order() {
        func screen(_ link: IncomingLink, _ session: HostSession?) -> AppUnderTest.Reaction? {
            var app = AppUnderTest(setup: .done)
            app.snapshot.hostSession = session
            app.launchToPIN(opening: link)
            app.unlock()
            return app.state
        }
        #expect(screen(IncomingLink("x", from: .externalScanner), .issuance) == .shows("UC3.1/1.1"))
        #expect(screen(IncomingLink(Self.link.url, from: .externalScanner), .issuance) == .shows("PF2.7/2.1"))
        #expect(screen(Self.link, .issuance) == .shows("PF2.7/4.1"))
        #expect(screen(Self.link, nil) == .shows("PF2.7/3.1"))
    }

    @Test("a link without a wallet is dropped (LTC44)")
    func noWallet() {
        var app = AppUnderTest()
        app.launch(Self.link)
        app.timer()
        #expect(app.answer(.updatePolicy(.ok, solutionRevoked: false)) == .shows("UC1.1/1.1"))
        #expect(app.app.link == nil)
        #expect(app.resume(Self.link) == .shows("UC1.1/1.1"))
        app.tap(.skip)
        app.tap(.next)
        #expect(app.app.link == nil)
    }

    @Test("no link leads past a revocation")
    func revoked() {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.snapshot.isLocked = false
        app.launch(Self.link)
        app.timer()
        app.answer(.updatePolicy(.ok, solutionRevoked: false))
        app.answer(.status(.revoked(Revocation(reason: .user, mayRegisterAnew: true))))
        app.answer(.locked)
        #expect(app.resume(Self.link) == .shows("UC1.2/4.1"))
        #expect(app.events.isEmpty)
    }

    @Test("a link that arrives before there is a PIN is dropped", arguments: [false, true])
    func beforePIN(duringEffect: Bool) throws {
        var app = AppUnderTest()
        app.launchToChoosing()
        if !duringEffect { #expect(app.open(Self.link) == .shows("PF2.9/1.1")) }
        app.enter("024791")
        app.enter("024791")
        if duringEffect { app.app.noteResume(opening: Self.link, app.snapshot) }
        app.enrolled()
        app.timeDue()
        #expect(app.tap(.next) == .asks(.keepProgress(.secured)))
        app.answer(.progressKept)
        #expect(app.state == .asks(.keepProgress(.done)))
        app.snapshot.setup = .done
        #expect(app.answer(.progressKept) == .shows("UC3.1/1.1"))
        #expect(app.events.isEmpty)
    }

    @Test("a link that arrives during an effect is resolved afterwards")
    func whileBusy() {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.tap(.settings)
        app.tap(.deleteData)
        app.tap(.yesDelete)
        app.app.noteResume(opening: Self.link, app.snapshot)
        #expect(app.timeDue() == nil)
        #expect(app.answer(.failed(.noInternet)) == .shows("UC9.4/1.2"))
        #expect(app.timeDue() == .shows("UC9.4/1.2"))
        #expect(app.events.map(\.name) == ["link-accepted"])
        #expect(app.timeDue() == nil)
    }
}
