public import Secrets

/// The keychain of one app on a phone.
///
/// It returns a secret only after the user has confirmed a prompt.
///
/// All items are accessible `WHEN_UNLOCKED_THIS_DEVICE_ONLY`, which means only while the screen is unlocked. They are
/// never included in backups or moved to another phone. Adding, listing and removing items does not require a prompt.
public protocol Keychain: Sendable {
    /// Returns the names of all the app's items, without their contents.
    func names() throws(KeychainError) -> [String]

    /// Stores a secret under a new name.
    ///
    /// The item is durable when this method returns.
    ///
    /// - Parameter access: The rule for the item's prompt.
    func add(_ secret: borrowing SecretBytes, as name: String, access: ItemAccess) throws(KeychainError)

    /// Shows the prompt that guards an item, and returns the item's secret if the prompt is confirmed.
    ///
    /// - Parameter presentation: The input to the prompt. Use ``Presentation/byDevice`` on a real phone.
    func read(_ name: String, _ prompt: Prompt, _ presentation: Presentation) async throws(KeychainError) -> SecretBytes

    /// Removes the item, if it exists.
    func remove(_ name: String) throws(KeychainError)
}

/// The access rule of a keychain item.
public enum ItemAccess: Hashable, Sendable {
    /// The item's prompt accepts this method.
    ///
    /// Enrolling a biometric does not affect the item.
    case any(UnlockMethod)
    /// The item's prompt accepts a biometric that was enrolled when the item was added: `BIOMETRY_CURRENT_SET`.
    ///
    /// The operating system ends the item when a biometric is enrolled: afterwards, ``Keychain/names()`` does not list
    /// it, and reading it throws ``KeychainError/notFound``. On Android, this is a key with
    /// `setInvalidatedByBiometricEnrollment(true)`.
    case enrolledNow

    /// The method that the item's prompt accepts.
    public var method: UnlockMethod {
        switch self {
        case .any(let method): method
        case .enrolledNow: .biometric
        }
    }
}

/// An error from a keychain operation.
///
/// The operation had no effect.
public enum KeychainError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The item does not exist: it was never added, the app was restored to another phone, or a change of the phone's
    /// biometrics or passcode has ended it.
    case notFound
    /// The prompt was shown, but not confirmed.
    case prompt(PromptResult)
    /// The screen is locked.
    ///
    /// No items can be read until it is unlocked.
    case screenLocked
    /// The phone does not have the passcode or enrolled biometric that the access requires.
    ///
    /// Choose a different access.
    case accessImpossible
    /// The keychain's storage failed.
    ///
    /// Show the text to the user.
    case storage(String)

    /// A description for a log or the user.
    public var description: String {
        switch self {
        case .notFound: "the keychain has no such item"
        case .prompt(let result): "the prompt ended with \"\(result.rawValue)\""
        case .screenLocked: "the phone is locked"
        case .accessImpossible: "the phone has no passcode or enrolled biometric to guard the item with"
        case .storage(let reason): reason
        }
    }
}

/// A request to the operating system to authenticate the phone's owner.
public struct Prompt: Hashable, Sendable {
    /// The reason for showing the prompt.
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        /// To open the locked wallet.
        case unlock
        /// To turn on biometrics.
        case enable
        /// To turn off biometrics.
        case disable
        /// To replace the PIN.
        case changePIN = "change-pin"
        /// To change from the PIN-fallback mode to the safe mode.
        case migrate
        /// To confirm an action of the host application in the safe mode.
        case confirm
    }

    /// The reason for showing the prompt.
    public var purpose: Purpose
    /// The unlock method accepted by the prompt.
    public var accepts: UnlockMethod

    /// Creates a prompt, which by default can be confirmed with any enrolled biometric.
    public init(_ purpose: Purpose, accepts: UnlockMethod = .biometric) {
        self.purpose = purpose
        self.accepts = accepts
    }
}

/// The input to the phone while a ``Prompt`` is open.
public enum Presentation: String, Hashable, Sendable, CaseIterable {
    /// Determined by the device, which means by the sensor setting of a simulated phone or the owner of a real one.
    case byDevice = "by-device"
    /// The owner's face or finger.
    case match
    /// Another person's face or finger.
    case mismatch
    /// The phone's passcode.
    case passcode
    /// A wrong passcode.
    case wrongPasscode = "wrong-passcode"
    /// The prompt is dismissed.
    case cancel
}

/// The result of a ``Prompt``.
public enum PromptResult: String, Hashable, Sendable, CaseIterable {
    /// The owner was recognized.
    case confirmed
    /// The input was not recognized.
    ///
    /// This counts as a failed attempt for the sensor.
    case rejected
    /// The prompt was dismissed.
    case cancelled
    /// The sensor is locked until the phone is unlocked with its passcode.
    case lockedOut = "locked-out"
    /// The prompt can no longer succeed, because nothing is enrolled or the guarded item no longer exists.
    case unavailable
}
