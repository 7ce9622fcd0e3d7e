public import Secrets

/// The phone's keychain for one app, which releases a secret to the app only after a confirmed
/// prompt.
///
/// Every item is accessible `WHEN_UNLOCKED_THIS_DEVICE_ONLY`: only while the screen is unlocked,
/// and never in a backup or on another phone. Adding, listing and removing items need no prompt.
public protocol Keychain: Sendable {
    /// Returns the names of all items of the app, without their contents.
    func names() throws(KeychainError) -> [String]

    /// Stores a secret under a new name; the item is durable when this returns.
    ///
    /// - Parameter access: The unlock method for this item's prompt.
    func add(_ secret: borrowing SecretBytes, as name: String, access: UnlockMethod) throws(KeychainError)

    /// Shows the prompt that guards the item and returns its secret if the prompt is confirmed.
    ///
    /// - Parameter presentation: The input for the prompt; ``Presentation/byDevice`` on a real phone.
    func read(
        _ name: String,
        _ prompt: Prompt,
        _ presentation: Presentation
    ) async throws(KeychainError) -> SecretBytes

    /// Removes the item, or does nothing if it does not exist.
    func remove(_ name: String) throws(KeychainError)
}

/// An error from a keychain operation, which did not change anything.
public enum KeychainError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The item does not exist: it was never added, or the app was restored to another phone.
    case notFound
    /// The result of the prompt was not `confirmed`.
    case prompt(PromptResult)
    /// The screen is locked; no item can be read until it is unlocked.
    case screenLocked
    /// The phone has no passcode or no enrolled biometric, as the access requires: choose another
    /// access.
    case accessImpossible
    /// The storage of the keychain failed; show the text to the user.
    case storage(String)

    /// The error as text for a log or the user.
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
