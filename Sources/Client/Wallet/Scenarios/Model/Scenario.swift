internal import DeviceInterface
internal import WalletFlows

/// One scenario file, checked and read: a logical test case that a tester wrote down.
package struct Scenario: Sendable {
    /// As it was named on the command line.
    package let path: String
    /// The logical test case: `LTC46`.
    package let caseID: String
    /// What it shows.
    package let title: String
    /// The server's settings where they differ from a lab's, by their names, in the words of the settings file.
    let server: [String: String]
    let device: DeviceChange
    let wallet: AppConfiguration
    let steps: [Step]
}

/// How a scenario's app is configured.
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
    /// Where it stands in the file.
    var line: Int
    /// As it is told to people: `tap skip`.
    var text: String
    var action: Action

    enum Action: Sendable {
        case launch(LinkText?)
        case resume(LinkText?)
        case background(Duration?)
        /// Right before the n-th write from now where a number is given.
        case killApp(atWrite: Int?)
        case tap([ActionID])
        case enter([String])
        case present([Presentation])
        case link(LinkText)
        case hostSession(HostSession?)
        case setUp(SetUp)
        case unlock(String)
        case advance(Duration)
        case device(DeviceChange)
        case restore(DeviceChange)
        /// The phone itself is unlocked, which also frees its sensor.
        case enterPasscode
        case phone(String, DeviceChange)
        case stopServer
        case killServer
        case startServer
        /// Names for later steps, each with the value of the screen that it is for.
        case keep([String: String])
        case operate(OperatorStep)
        /// The deletion portal takes a code.
        case revokeWithCode(String)
        case expectScreen(ScreenExpectation)
        case expectTrace(TraceExpectation)
        case expectServer(ServerExpectation)
        case expectEvent(EventExpectation)
    }
}

/// A link before `${NAME}` is replaced in it.
struct LinkText: Hashable, Sendable {
    var url: String
    var source: IncomingLink.Source
}

/// The way from the introduction to a wallet that is set up.
struct SetUp: Hashable, Sendable {
    var pin: String
    var enablesBiometrics: Bool
    var obtainsPID: Bool
    /// The deletion code's name for later steps.
    var codeName: String?
}

/// What an operator does through the admin socket.
enum OperatorStep: Hashable, Sendable {
    /// The present phone's wallet, or a named one's.
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

    /// One rule of the update policy; none at all has the settings count again.
    struct Rule: Hashable, Sendable {
        var word: String
        var from: String?
        var below: String?
        var blockedIn: Duration?
        var isUpdateAvailable: Bool
    }
}

/// What the screen is expected to be; what is nil or empty is not looked at.
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

/// What the steps since the last look are expected to be.
enum TraceExpectation: Hashable, Sendable {
    /// These and no others.
    case exactly([String])
    /// These in this order, others between them.
    case contains([String])
}

/// What the server is expected to have on file; what is nil is not looked at.
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

/// What the host is expected to have been told; `none` for nothing.
struct EventExpectation: Hashable, Sendable {
    var name: String
    var kind: String?
    var url: String?
}
