internal import ConfigText
package import WalletFlows
internal import LabFiles
package import WalletCore

/// An action by the user or the operating system.
package enum PhoneAction: Sendable {
    /// Starts the app in a new, locked process (UC1.2/1.1a), after terminating the previous one.
    case launch(IncomingLink? = nil)
    /// Brings the app to the foreground (UC1.2/1.1b), or launches it if it is not running.
    case resume(IncomingLink? = nil)
    /// Opens a link in the app, which is brought to the foreground or launched.
    case open(IncomingLink)
    /// Sends the app to the background, where its process keeps running.
    case background
    case endProcess
    case tap(ActionID)
    /// Enters a PIN, for which the current screen must ask.
    case enter(PINInput)
    /// Presents an input to the open system prompt.
    case present(Presentation)
    /// Sets or clears the host application's operation in progress, which ends with the app's process.
    case hostSession(HostSession?)
    /// Asks the user to confirm an action of the host application.
    case confirm(ConfirmationRequest)
}

/// The visible state of the app after an action.
package struct PhoneState: Sendable {
    package var screen: Screen
    package var obstacle: Obstacle?
    package var isLocked: Bool
    package var isRunning: Bool
    package var isInFront: Bool
}

/// Observes the actions on a phone, for example to record them.
///
/// Calls never overlap.
package struct ActionObserver: Sendable {
    /// Called before an action, with the phone's profile.
    let begin: @Sendable (DeviceProfile) -> Void
    /// Called after an action.
    ///
    /// The state is nil if the action was rejected and nothing has changed.
    let end: @Sendable (PhoneAction, PhoneState?, DeviceProfile) -> Void

    package init(
        begin: @escaping @Sendable (DeviceProfile) -> Void,
        end: @escaping @Sendable (PhoneAction, PhoneState?, DeviceProfile) -> Void
    ) {
        self.begin = begin
        self.end = end
    }
}

/// An error from an operation on a ``Phone``.
///
/// The operation had no effect.
package enum PhoneError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An option, setting or lab cannot be used.
    ///
    /// Print the text and stop.
    case usage(String)
    case homeInUse(path: String, holder: Int32?)
    /// The home's files cannot be used.
    ///
    /// Print the text and stop.
    case storage(String)
    case device(DeviceError)
    /// The wallet rejected the call.
    ///
    /// Check the current screen.
    case wallet(WalletError)
    case notRunning, inBackground

    /// Converts an error from a lower layer.
    package init(_ error: any Error) {
        switch error {
        case let error as PhoneError: self = error
        case let error as WalletError: self = .wallet(error)
        case let error as DeviceError: self = .device(error)
        case let error as ConfigError: self = .usage("\(error)")
        case let error as TLSDialer.NotUsable: self = .usage("\(error)")
        case let error as LabError: self = .usage("the lab cannot be used: \(error)")
        case _: self = .storage("\(error)")
        }
    }

    package var description: String {
        switch self {
        case .usage(let text), .storage(let text): text
        case .homeInUse(let path, let holder):
            "\(path) is in use by \(holder.map { "process \($0)" } ?? "another process")"
        case .device(let error): "\(error)"
        case .wallet(let error): self.needsReset ? "\(error) with `wallet wipe`" : "\(error)"
        case .notRunning: "the app is not running: launch it"
        case .inBackground: "the app is in the background: resume it"
        }
    }

    /// Whether the wallet must be deleted because its files are damaged.
    package var needsReset: Bool {
        switch self {
        case .wallet(.storage(.notAsWritten)), .wallet(.storage(.missing)): true
        case .wallet, .usage, .homeInUse, .storage, .device, .notRunning, .inBackground: false
        }
    }

    /// The exit status of a command that stops because of this error.
    package var exitStatus: WalletExitStatus {
        switch self {
        case .usage, .notRunning, .inBackground: .usage
        case .homeInUse: .homeInUse
        case .storage, .device, .wallet: .failed
        }
    }
}
