package import DeviceInterface
package import WalletCore

/// Why a ``Phone`` did not do what it was asked; nothing has changed.
package enum PhoneError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was asked for cannot be: an option, a setting, a lab that is not there. Say it and stop.
    case usage(String)
    /// Another process uses the home: wait for it to end.
    case homeInUse(path: String, holder: Int32?)
    /// The home's files cannot be used: say it and stop.
    case storage(String)
    /// The simulated device cannot be made or changed so: say it.
    case device(DeviceError)
    /// The wallet did not take it: look at the present screen.
    case wallet(WalletError)
    /// No process of the app runs: launch it.
    case notRunning
    /// The app is in the background: resume it.
    case inBackground

    package var description: String {
        switch self {
        case .usage(let text), .storage(let text): text
        case .homeInUse(let path, let holder):
            "\(path) is in use by \(holder.map { "process \($0)" } ?? "another process")"
        case .device(let error): "\(error)"
        case .wallet(let error): "\(error)"
        case .notRunning: "the app is not running: launch it"
        case .inBackground: "the app is in the background: resume it"
        }
    }

    /// How a command that cannot go on because of this ends.
    package var exitStatus: WalletExitStatus {
        switch self {
        case .usage, .device, .notRunning, .inBackground: .usage
        case .homeInUse: .homeInUse
        case .storage, .wallet: .failed
        }
    }
}
