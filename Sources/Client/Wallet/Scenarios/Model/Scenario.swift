internal import ConfigText
internal import WalletFlows
internal import SimulatedPhone

/// A validated scenario file, which describes a single logical test case.
package struct Scenario: Sendable {
    /// The path given on the command line.
    package let path: String
    /// The id of the logical test case, such as `LTC46`.
    package let caseID: String
    /// The behavior demonstrated by the scenario.
    package let title: String
    /// The tags matched by `wallet run --tag`.
    package let tags: [String]
    /// The mark of a scenario that fails for a known reason, or nil.
    let knownFailure: KnownFailure?
    /// The real time after which the scenario fails.
    let timeLimit: Duration
    /// The repetition number, starting at 1, or nil if the scenario runs only once.
    package var repetition: Int?
    /// The server settings that differ from the lab defaults, in the format of the server's configuration file.
    let server: [String: String]
    let device: DeviceChange
    let wallet: AppConfiguration
    let steps: [Step]
    /// Steps that run after the scenario's own, even if one of those failed.
    let tearDown: [Step]
}

/// The mark of a scenario that shows a defect which is not mended yet.
struct KnownFailure: Hashable, Sendable {
    var reason: String
    /// The line of the mark.
    var line: Int
}

/// The configuration of the app that a scenario sets.
///
/// For keys that are left out, the app's defaults apply.
struct AppConfiguration: Sendable {
    /// Keys of wallet.yaml, or nil if none are set.
    let value: ConfigValue?
}

struct Step: Sendable {
    /// The line in the scenario file, or the line of the `include` for an included step.
    var line: Int
    /// The text used in reports, such as `tap skip`, or `login.yaml:3 tap skip` for an included step.
    var text: String
    var action: Action

    /// The effects of the steps in ``StepTable``, which describes each.
    enum Action: Sendable {
        case launch(LinkText?)
        case resume(LinkText?)
        case background(Duration?)
        case killApp(atWrite: Int?)
        case tap([ActionID])
        case enter([String])
        case present([Presentation])
        case link(LinkText)
        case hostSession(HostSession?)
        /// Texts that may still contain `${NAME}` placeholders.
        case confirm(title: String, details: String)
        /// A `tap`, `enter` or `present` that the app must refuse.
        indirect case refused(Action)
        case setUp(SetUp)
        case unlock(String)
        case advance(Duration)
        case device(DeviceChange)
        case configure(AppConfiguration)
        case setClock(Duration)
        case enroll(BiometricSupport)
        case wipeKeychain, removeScreenLock
        /// Whether the phone has no space left for the app's files.
        case storage(isFull: Bool)
        case restore(DeviceChange)
        case enterPasscode
        case phone(String, DeviceChange)
        case clone(String)
        case backUp(String)
        case restoreBackup(String)
        case stopServer, killServer
        /// Settings to change from now on, keyed by their names in docs/settings.md.
        case startServer([String: String])
        case startSecondServer, freezeServer, thawServer
        case exchangeCertificate(ExchangedCertificate)
        /// Maps names for use in later steps to values on the screen.
        case keep([String: String])
        case operate(OperatorStep)
        case revokeWithCode(String)
        /// The keys of ``ExpectationTable/screen``.
        case expectScreen(ConfigValue)
        case expectScreenOf(String)
        case expectOneOf([ConfigValue])
        case expectAll([Action])
        case expectTrace(TraceExpectation)
        /// The keys of ``ExpectationTable/server``.
        case expectServer(ConfigValue)
        /// The name of an event, or the keys of ``ExpectationTable/event``.
        case expectEvent(ConfigValue)

        /// The names that the step gives to values, for `${NAME}` in later steps.
        var keptNames: [String] {
            switch self {
            case .keep(let names): Array(names.keys)
            case .setUp(let setUp): setUp.codeName.map { [$0] } ?? []
            default: []
            }
        }

        var pins: [String] {
            switch self {
            case .enter(let pins): pins
            case .setUp(let setUp): [setUp.pin]
            case .unlock(let pin): [pin]
            default: []
            }
        }

        /// Whether the step runs the app, which means that a planned crash can happen during it.
        var usesApp: Bool {
            switch self {
            case .launch, .resume, .background, .killApp(atWrite: nil), .tap, .enter, .present, .link, .hostSession,
                .confirm, .setUp, .unlock:
                true
            case .killApp, .refused, .advance, .device, .configure, .setClock, .enroll, .wipeKeychain,
                .removeScreenLock, .storage, .restore, .enterPasscode, .phone, .clone, .backUp, .restoreBackup,
                .stopServer, .killServer, .startServer, .startSecondServer, .freezeServer, .thawServer,
                .exchangeCertificate, .keep, .operate, .revokeWithCode, .expectScreen, .expectScreenOf, .expectOneOf,
                .expectAll, .expectTrace, .expectServer, .expectEvent:
                false
            }
        }
    }
}

/// A link that may still contain `${NAME}` placeholders.
struct LinkText: Hashable, Sendable {
    var url: String
    var source: IncomingLink.Source
}

enum ExchangedCertificate: String, Sendable, CaseIterable {
    /// Issued by the same authority for the same names.
    case renewed
    /// Issued by the same authority for a different name.
    case otherName = "other-name"
    /// Issued by a different authority for the same names.
    case otherAuthority = "other-authority"
}

/// The answers given while a wallet is set up.
struct SetUp: Hashable, Sendable {
    var pin: String
    var enablesBiometrics: Bool
    var obtainsPID: Bool
    /// The name that later steps use for the deletion code.
    var codeName: String?
}

/// An operator command sent over the admin socket.
enum OperatorStep: Sendable {
    /// Revokes the named phone's wallet, or the current phone's if `phone` is nil.
    case revokeWallet(phone: String?)
    case revokeRecoveryCode(String)
    case removeFromDenyList(String)
    case revokeSolution, restoreSolution
    /// Replaces the shares of all wallets, each at its next unlock.
    case refreshShares
    case safeBiometricUnlock(ConfigValue)
    /// The rules of the update policy; without any, the server's settings apply again.
    case updatePolicy([ConfigValue])
}

/// The steps expected since the last comparison.
enum TraceExpectation: Hashable, Sendable {
    case exactly([String])
    /// These steps in this order, possibly with others in between.
    case contains([String])
}

/// The phone properties that a scenario sets.
///
/// All other properties keep their values.
struct DeviceChange: Sendable {
    /// Keys of a device profile, or nil if none are set.
    private let value: ConfigValue?

    /// - Precondition: `value` was accepted by the checker as the keys of a profile.
    init(_ value: ConfigValue?) { self.value = value?.fields == nil ? nil : value?.unescaped }

    var isEmpty: Bool { self.value == nil }

    func apply(to profile: inout DeviceProfile) { profile.apply(self.value) }

    /// The profile for a new phone.
    ///
    /// The default is an Android phone whose prompts are answered by the scenario.
    var newProfile: DeviceProfile {
        var profile = DeviceProfile(self.value)
        if self.value?["sensor"] == nil { profile.sensor = .ask }
        return profile
    }
}
