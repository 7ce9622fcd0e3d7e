package import DeviceInterface
package import SimulatedPhone
package import WalletFlows

/// An action by the user or the operating system.
package enum PhoneAction: Sendable {
    case launch(IncomingLink?)
    case resume(IncomingLink?)
    case open(IncomingLink)
    case background
    case endProcess
    case tap(ActionID)
    case enter(PINInput)
    case present(Presentation)
    case hostSession(HostSession?)
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
