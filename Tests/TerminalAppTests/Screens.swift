@testable import SimulatedPhone
import HostSystem
import Vocabulary
@testable import WalletFlows

/// Screens of the flows.
enum Screens {
    static func screen(
        _ title: String,
        _ message: String = "",
        kind: Screen.Kind = .screen,
        values: [String: Screen.Value] = [:],
        pin: Bool = false,
        actions: [(ActionID, String)] = []
    ) -> Screen {
        var screen = Screen.none
        screen.step = "UC2.3/1.3"
        screen.kind = kind
        screen.title = title
        screen.message = message
        screen.values = values
        if pin { screen.inputs = [Screen.Input(id: "pin", length: 6, step: "UC2.3/1.3a")] }
        if kind == .osPrompt { screen.inputs = [Screen.Input(id: "biometric", length: 0, step: "UC2.3/1.2")] }
        screen.actions = actions.map { Screen.Action(id: $0.0, title: $0.1, step: "UC2.3/1.3b") }
        return screen
    }

    static let openWithPIN = Self.screen(
        "Open app with PIN",
        "Open with your PIN",
        pin: true,
        actions: [(.info, "Info"), (.forgotPIN, "Forgot PIN")]
    )
    static let blocked = Self.screen(
        "Temporarily Blocked",
        "app is blocked for 43 more seconds.",
        values: ["remainingMs": .number(42_600)],
        actions: [(.deleteWallet, "Delete Wallet"), (.forgotPIN, "Forgot PIN"), (.back, "Back"), (.help, "Help")]
    )
    static let code = Self.screen(
        "Write down deletion code",
        "You use this code to delete your NL Wallet from a distance.",
        values: ["deletionCode": .text("NXPY-S6GY-QW81-T0BH-S4")],
        actions: [(.writtenDown, "I have written it down"), (.help, "Help")]
    )
    static let wrongPIN = Self.screen(
        "Wrong PIN, retry",
        "wrong PIN, try again.",
        kind: .prompt,
        actions: [(.close, "Close"), (.forgotPIN, "Forgot PIN")]
    )
    static let prompt = Self.screen("Unlock NL Wallet", "Confirm with Fingerprint.", kind: .osPrompt)

    /// The screen after a failed biometric in the safe mode.
    static func noFallback(_ reason: BiometricFailure, _ language: Wording.Language) -> Screen {
        let scene = UnlockTheApp(then: .enter).dialog(.noFallback(reason)).scene
        return Wording(language: language).screen(scene, at: Timestamp(milliseconds: 0), uptime: .zero)
    }

    static let plain = Palette(hasUnicode: true, hasColor: false, hasControl: false)
    static let ascii = Palette(hasUnicode: false, hasColor: false, hasControl: false)
    static let smallest = Renderer(size: Renderer.smallest, palette: Self.plain)
}
