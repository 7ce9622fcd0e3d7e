public import WalletFlows

/// An event sent to the observer of a ``Wallet``; events arrive in the order they occurred.
public enum WalletEvent: Sendable {
    /// The flows took a step.
    case step(StepID)
    /// A screen appeared; the obstacle explains why it is not the intended one.
    case screen(Screen, Obstacle?)
    /// A request to the host application.
    case event(AppEvent)
    /// The wallet was locked (true) or unlocked (false).
    case locked(Bool)
}

/// An error from a call rejected by a ``Wallet``; nothing has changed.
public enum WalletError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The wallet's files cannot be used.
    case storage(StorageError)
    /// The device has an app or system version that cannot be sent in the protocol.
    case deviceProfile
    /// Another call is in progress: wait for it.
    case busy
    /// The current screen does not offer this action: look at ``Screen/actions``.
    case notOffered(ActionID)
    /// The current screen does not ask for a PIN.
    case noInput
    /// No prompt of the operating system is open.
    case noPrompt
    /// The wallet is locked: unlock it first.
    case locked

    /// Translates the errors of opening a wallet's files.
    init(_ error: any Error) {
        switch error {
        case let error as WalletError: self = error
        case let error as StorageError: self = .storage(error)
        case let error as LocalDiskError: self = .storage(.file(error))
        case _: self = .storage(.file(LocalDiskError("\(error)")))
        }
    }

    /// The error as text for a log or the user.
    public var description: String {
        switch self {
        case .storage(let error): "\(error)"
        case .deviceProfile: "the device states an app or system version that the protocol cannot carry"
        case .busy: "another call is in progress"
        case .notOffered(let action): "the current screen does not offer \"\(action.rawValue)\""
        case .noInput: "the current screen does not ask for a PIN"
        case .noPrompt: "no prompt of the operating system is open"
        case .locked: "the wallet is locked"
        }
    }
}
