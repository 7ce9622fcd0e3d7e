public import WalletFlows

/// An event sent to a ``Wallet``'s observer.
///
/// Events arrive in the order they occur.
public enum WalletEvent: Sendable {
    /// A step was taken in a flow.
    case step(StepID)
    /// A screen appeared.
    ///
    /// The obstacle explains why it is not the intended one.
    case screen(Screen, Obstacle?)
    /// An event for the host application.
    case event(AppEvent)
    /// The wallet was locked (true) or unlocked (false).
    case locked(Bool)
}

/// An error from a call that a ``Wallet`` rejected.
///
/// Nothing has changed.
public enum WalletError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The wallet's files cannot be used.
    case storage(StorageError)
    /// The version of the app or operating system cannot be represented in the protocol.
    case deviceProfile
    /// Another call is in progress.
    ///
    /// Wait for it to finish.
    case busy
    /// The current screen does not offer this action.
    ///
    /// See ``Screen/actions``.
    case notOffered(ActionID)
    /// The current screen does not ask for a PIN.
    case noInput
    /// No system prompt is open.
    case noPrompt
    /// The wallet is locked.
    ///
    /// Unlock it first.
    case locked
    /// The app is in the background, shows a prompt, or is already asking for a confirmation.
    case cannotConfirm

    /// Converts the errors thrown when a wallet's files are opened.
    init(_ error: any Error) {
        switch error {
        case let error as WalletError: self = error
        case let error as StorageError: self = .storage(error)
        case let error as LocalDiskError: self = .storage(.file(error))
        case _: self = .storage(.file(LocalDiskError("\(error)")))
        }
    }

    /// A description for a log or the user.
    public var description: String {
        switch self {
        case .storage(let error): "\(error)"
        case .deviceProfile: "the device states an app or system version that the protocol cannot carry"
        case .busy: "another call is in progress"
        case .notOffered(let action): "the current screen does not offer \"\(action.rawValue)\""
        case .noInput: "the current screen does not ask for a PIN"
        case .noPrompt: "no prompt of the operating system is open"
        case .locked: "the wallet is locked"
        case .cannotConfirm:
            "the app cannot ask for a confirmation while it is in the background, shows a prompt or is already asking"
        }
    }
}
