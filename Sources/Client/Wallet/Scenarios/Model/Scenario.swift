internal import DeviceInterface
internal import WalletFlows

/// A checked scenario file, which describes one logical test case.
package struct Scenario: Sendable {
    /// The path from the command line.
    package let path: String
    /// The logical test case: `LTC46`.
    package let caseID: String
    /// The behavior that the scenario shows.
    package let title: String
    /// Words by which `wallet run --tag` selects scenarios.
    package let tags: [String]
    /// The number of this repetition, from 1; nil if the scenario is played once.
    package var repetition: Int?
    /// The server's settings that differ from a lab's, as the server's configuration file writes them.
    let server: [String: String]
    let device: DeviceChange
    let wallet: AppConfiguration
    let steps: [Step]
    /// The steps after those of the scenario, which are executed even if one of them failed.
    let tearDown: [Step]
}

/// The configuration of a scenario's app; nil values are the app's defaults.
struct AppConfiguration: Hashable, Sendable {
    var language: String?
    var product: String?
    var linkBase: String?
    var lockAfterBackground: Duration?
    var lockAfterInactivity: Duration?
    var lockWarningAfter: Duration?
}

/// One step of a scenario.
struct Step: Sendable {
    /// The line in the scenario's file; for a step of another file, the line that includes it.
    var line: Int
    /// The text for reports: `tap skip`; for a step of another file, with its place: `login.yaml:3 tap skip`.
    var text: String
    var action: Action

    enum Action: Sendable {
        case launch(LinkText?)
        case resume(LinkText?)
        case background(Duration?)
        /// At once, or right before the n-th write from now.
        case killApp(atWrite: Int?)
        case tap([ActionID])
        case enter([String])
        case present([Presentation])
        case link(LinkText)
        case hostSession(HostSession?)
        /// One of `tap`, `enter` and `present`, which the app must refuse.
        indirect case refused(Action)
        case setUp(SetUp)
        case unlock(String)
        case advance(Duration)
        case device(DeviceChange)
        /// The stated values are those of the app's next process.
        case configure(AppConfiguration)
        case setClockBack(Duration)
        case enroll(BiometricSupport)
        case wipeKeychain
        case restore(DeviceChange)
        /// Unlocks the phone, which also unlocks its sensor.
        case enterPasscode
        case phone(String, DeviceChange)
        /// Copies the whole phone, as an attacker can who reads all of it.
        case clone(String)
        /// Keeps a copy of the app's data, without hardware key and keychain.
        case backUp(String)
        case restoreBackup(String)
        case stopServer
        case killServer
        /// Settings that differ from now on, by the names of docs/settings.md.
        case startServer([String: String])
        case freezeServer
        case thawServer
        case exchangeCertificate(ExchangedCertificate)
        /// Names for later steps, each with the name of the screen's value.
        case keep([String: String])
        case operate(OperatorStep)
        /// Enters a code in the deletion portal.
        case revokeWithCode(String)
        case expectScreen(ScreenExpectation)
        /// At least one of these screens.
        case expectOneOf([ScreenExpectation])
        case expectTrace(TraceExpectation)
        case expectServer(ServerExpectation)
        case expectEvent(EventExpectation)

        /// True if the step runs the app, so that a planned crash can happen in it.
        var usesApp: Bool {
            switch self {
            case .launch, .resume, .background, .killApp(atWrite: nil), .tap, .enter, .present, .link, .hostSession,
                .setUp, .unlock:
                true
            case .killApp, .refused, .advance, .device, .configure, .setClockBack, .enroll, .wipeKeychain, .restore,
                .enterPasscode, .phone, .clone, .backUp, .restoreBackup, .stopServer, .killServer, .startServer,
                .freezeServer, .thawServer, .exchangeCertificate, .keep, .operate, .revokeWithCode, .expectScreen,
                .expectOneOf, .expectTrace, .expectServer, .expectEvent:
                false
            }
        }
    }
}

/// A link in which `${NAME}` is not yet replaced.
struct LinkText: Hashable, Sendable {
    var url: String
    var source: IncomingLink.Source
}

/// A new certificate of the server.
enum ExchangedCertificate: String, Sendable, CaseIterable {
    /// By the same authority and for the same names.
    case renewed
    /// By the same authority for another name.
    case otherName = "other-name"
    /// By another authority for the same names.
    case otherAuthority = "other-authority"
}

/// The answers during the setup of a wallet.
struct SetUp: Hashable, Sendable {
    var pin: String
    var enablesBiometrics: Bool
    var obtainsPID: Bool
    /// The name of the deletion code for later steps.
    var codeName: String?
}

/// A command of an operator through the admin socket.
enum OperatorStep: Hashable, Sendable {
    /// The current phone's wallet, or a named phone's.
    case revokeWallet(phone: String?)
    case revokeRecoveryCode(String)
    case removeFromDenyList(String)
    case revokeSolution
    case restoreSolution
    case safeBiometricUnlock(Rollout)
    case updatePolicy([Rule])

    enum Rollout: Hashable, Sendable {
        case off
        case on
        case percentage(Int)
        case phones([String])
    }

    /// One rule of the update policy; without rules the server's settings apply again.
    struct Rule: Hashable, Sendable {
        var word: String
        var from: String?
        var below: String?
        var blockedIn: Duration?
        var isUpdateAvailable: Bool
    }
}

/// The expected screen; nil and empty values are not compared.
struct ScreenExpectation: Hashable, Sendable {
    var screen: String?
    var kind: String?
    var title: String?
    var texts: [String] = []
    var actions: [String] = []
    var missingActions: [String] = []
    var input: String?
    var values: [String: String] = [:]
    var error: String?
    var exitCode: Int?
    var isLocked: Bool?
    var isRunning: Bool?
    var isInFront: Bool?
    var keychainItems: Int?
}

/// The expected steps since the previous comparison.
enum TraceExpectation: Hashable, Sendable {
    /// Exactly these steps.
    case exactly([String])
    /// These steps in this order; others may occur between them.
    case contains([String])
}

/// The expected record of the wallet on the server; nil values are not compared.
struct ServerExpectation: Hashable, Sendable {
    var state: String?
    var attemptsLeft: Int?
    var failedAttempts: Int?
    var round: Int?
    var isFinalRound: Bool?
    /// A reason, or `no`.
    var revoked: String?
    var isSolutionRevoked: Bool?
    var hasRecoveryCode: Bool?
    var hasDeletionCode: Bool?
    var wantsSafeMode: Bool?
}

/// The expected event for the host; `none` for no event.
struct EventExpectation: Hashable, Sendable {
    var name: String
    var kind: String?
    var url: String?
}
