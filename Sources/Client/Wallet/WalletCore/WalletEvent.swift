public import WalletFlows

/// What an observer of a ``Wallet`` hears, in the order in which it happens.
public enum WalletEvent: Sendable {
    /// A step of the flows was taken.
    case step(StepID)
    /// A screen appeared; the obstacle says why it is not the one that was wanted.
    case screen(Screen, Obstacle?)
    /// Something for the host of the app.
    case event(AppEvent)
    /// The wallet was locked or unlocked.
    case locked(Bool)
}

/// Why a ``Wallet`` did not do what it was asked; nothing has changed.
public enum WalletError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Its files cannot be used.
    case storage(StorageError)
    /// The device states versions that are none.
    case deviceProfile
    /// Something else is under way: wait for it.
    case busy
    /// The present screen has no such action: look at its actions.
    case notOffered(ActionID)
    /// The present screen asks for no PIN.
    case noInput
    /// No prompt of the operating system is open.
    case noPrompt
    /// Unlock first.
    case locked

    public var description: String {
        switch self {
        case .storage(let error): "\(error)"
        case .deviceProfile: "the device's profile states versions that cannot be used"
        case .busy: "something else is under way"
        case .notOffered(let action): "the present screen does not offer \"\(action.rawValue)\""
        case .noInput: "the present screen asks for no PIN"
        case .noPrompt: "no prompt of the operating system is open"
        case .locked: "the wallet is locked"
        }
    }
}
