@testable import WalletFlows
import Foundation
import struct TestSupport.SeededGenerator
import Testing
import Vocabulary

/// Random walks through the app, with possible answers of server, device and user.
@Suite("Every step of the flows")
struct StepCoverageTests {
    @Test(
        """
        a random walk reaches every step of docs/steps.txt and every screen of docs/screens.md, and no other, and the \
        lock holds on the way
        """
    )
    func walk() async throws {
        let seed: UInt64 = 0x5EED_2026
        print("seed: \(seed)")
        var generator = SeededGenerator(seed: seed)
        var reached: [String: Int] = [:]
        var page = ScreenPage()
        for _ in 0..<4000 {
            var walker = Walker(generator: generator)
            swap(&walker.page, &page)
            walker.walk(events: 80)
            swap(&walker.page, &page)
            for step in Set(walker.app.trace) { reached[step, default: 0] += 1 }
            generator = walker.generator
            await Task.yield()
        }
        let steps = StepID.documented.map(\.description)
        let missing = steps.filter { reached[$0] == nil }
        #expect(missing.isEmpty, "not reached: \(missing.joined(separator: " "))")
        let listed = Set(StepID.all.map(\.description))
        let rarest = steps.min { reached[$0, default: 0] < reached[$1, default: 0] } ?? ""
        print("rarest: \(rarest), in \(reached[rarest, default: 0]) walks")
        let unknown = reached.keys.filter { !listed.contains($0) }
        #expect(unknown.isEmpty, "not a step of the flows: \(unknown.sorted().joined(separator: " "))")
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/screens.md")
        if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] == "1" {
            try page.markdown.write(to: file, atomically: true, encoding: .utf8)
        }
        // Not every walk meets each rare error of each step, so a step may know more names than were shown.
        for (step, names) in page.values {
            #expect(names.isSubset(of: ScreenValues.names(of: step)), "ScreenValues: \(step) shows \(names.sorted())")
        }
        #expect(
            Set(ScreenValues.all).isSubset(
                of: page.values.values.reduce(Set(ScreenValues.ofAnyScreen)) { $0.union($1) }
            )
        )
        #expect(
            try String(contentsOf: file, encoding: .utf8) == page.markdown,
            "UPDATE_GOLDENS=1 writes docs/screens.md"
        )
    }

    @Test("no event in any state crashes or shows a screen from behind the lock", arguments: [1, 2, 3, 4] as [UInt64])
    func chaos(seed: UInt64) async {
        print("seed: \(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<800 {
            var walker = Walker(generator: generator)
            walker.chaos(events: 60)
            generator = walker.generator
            await Task.yield()
        }
    }
}

/// The invariants of the app, checked after every event.
struct Invariants {
    /// Steps whose screens only an unlocked app may show.
    private static let behindLock = [
        "UC7.1/", "UC2.2/", "UC2.6/", "UC9.12/", "UC3.1/", "PF2.4/", "PF2.7/", "LOCK/1.4", "PF2.9/5", "UC2.1/1.3",
        "UC2.1/1.4", "UC2.1/1.5", "UC2.1/1.6",
    ]

    /// A locked app shows no screen from behind the lock.
    static func checkLock(_ app: AppUnderTest) {
        guard app.snapshot.isLocked, case .some(.show(let scene)) = app.last, app.snapshotOfLast.isLocked else {
            return
        }
        let step = scene.step.description
        #expect(!Self.behindLock.contains { step.hasPrefix($0) }, "shown while locked: \(step)")
        #expect(!scene.values.contains { if case .deletionCode = $0 { true } else { false } })
    }

    /// Each confirmation for the host has one outcome, or is still open, and `confirmed` follows a PIN or a prompt, the
    /// wallet's status and the update policy.
    static func checkConfirmations(_ app: AppUnderTest) {
        let outcomes = app.events.count { $0.name == "confirmed" || $0.name == "declined" }
        let isOpen = app.app.stack.isConfirmingForHost
        #expect(outcomes + (isOpen ? 1 : 0) == app.confirmations.count)
        guard !isOpen, case .some(.confirmed) = app.events.last else { return }
        let steps = app.trace[app.confirmations.start...]
        let proof = steps.firstIndex { $0 == "PF2.4/1.2a" || $0 == "PF2.4/1.6a" } ?? steps.endIndex
        #expect(steps[proof...].contains("PF2.4/1.3") && steps[proof...].contains("PF2.4/1.4"))
    }

    /// One of each answer, and of each outcome that a flow tells apart.
    private static let answers: [Answer] =
        [
            .updatePolicy(.ok, solutionRevoked: false), .status(.active), .status(.mustEnrollAnew),
            .status(.revoked(Revocation(reason: .user, mayRegisterAnew: true))), .verdict(.valid),
            .verdict(.wrong(.blockedPermanently)), .verdict(.blocked(remaining: .seconds(9))), .enrolled, .pinChanged,
            .wiped(serverTold: true), .wiped(serverTold: false), .progressKept, .itemGone, .biometricsChanged,
            .pid(nil),
            .recoveryCodeLinked, .locked, .failed(.noInternet), .failed(.serverUnreachable(notCounted: false)),
            .failed(.deviceInsecure), .failed(.generic(correlationID: "c0ffee", cause: .serverInternal)),
            .failed(.revoked(Revocation(reason: .recoveryCode, mayRegisterAnew: false))),
        ] + PromptResult.allCases.map { .prompted($0) }

    /// The flow that asked takes every answer that the effect can have, and none that belongs to another effect.
    static func checkAnswers(_ app: AppUnderTest, to effect: Effect) {
        for answer in Self.answers {
            var other = app.app
            let action = other.receive(answer, app.snapshot)
            if effect.takes(answer) {
                #expect(other.takeIgnored().isEmpty, "\(effect) was answered by \(answer)")
            } else {
                #expect(other.takeIgnored().count == 1 && action == .ask(effect), "\(effect) was answered by \(answer)")
            }
        }
    }

    static func check(_ app: AppUnderTest) {
        Self.checkLock(app)
        Self.checkConfirmations(app)
        guard case .some(.show(let scene)) = app.last else { return }
        let step = scene.step.description
        if scene.input != nil || scene.prompt != nil {
            let launch = app.trace.lastIndex(of: "LOCK/1.1") ?? 0
            let decided = app.trace[launch...].contains {
                $0 == "UC1.2/2.5a" || $0 == "UC1.2/2.5b" || $0.hasPrefix("UC9.4/1.2")
            }
            #expect(decided, "asked before the splash screen's decisions: \(step)")
        }
        if app.snapshot.biometricMode == .safe {
            #expect(step != "UC2.3/1.3", "safe mode fell back to the PIN")
        }
    }

    /// Every screen has a way on, and texts in every language.
    static func checkTexts(_ app: AppUnderTest) {
        guard case .some(.show(let scene)) = app.last else { return }
        let step = scene.step.description
        let screen = Wording().screen(scene, at: app.snapshot.now, uptime: app.snapshot.uptime)
        #expect(
            !screen.actions.isEmpty || !screen.inputs.isEmpty || scene.timer != nil,
            "a screen without a way on: \(step)"
        )
        #expect(Set(screen.actions.map(\.id)).count == screen.actions.count, "the same action twice: \(step)")
        for language in Wording.Language.allCases {
            let other = Wording(language: language).screen(scene, at: app.snapshot.now, uptime: app.snapshot.uptime)
            #expect(!other.title.isEmpty && (scene.message == nil || !other.message.isEmpty), "no text: \(step)")
            #expect(other.actions.map(\.id) == screen.actions.map(\.id))
        }
    }
}
