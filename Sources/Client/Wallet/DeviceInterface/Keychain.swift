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
    func read(
        _ name: String,
        _ prompt: Prompt,
        _ presentation: Presentation
    ) async throws(KeychainError) -> SecretBytes

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
