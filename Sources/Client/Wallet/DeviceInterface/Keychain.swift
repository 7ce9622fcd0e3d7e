public import Secrets

/// What a phone keeps for one app, where the app itself reads only what a prompt has opened.
///
/// Every item is accessible `WHEN_UNLOCKED_THIS_DEVICE_ONLY`: only while the phone's screen is unlocked, and never in a
/// backup or on another phone. An item cannot be read without its prompt; writing, listing and removing need none.
public protocol Keychain: Sendable {
    /// The names of the items that are there; says nothing of their contents.
    func names() throws(KeychainError) -> [String]

    /// Keeps a secret under a new name, durably when this returns.
    func add(_ secret: borrowing SecretBytes, as name: String, access: UnlockMethod) throws(KeychainError)

    /// Opens the item's prompt, and the item if it is confirmed.
    func read(
        _ name: String,
        _ prompt: Prompt,
        _ presentation: Presentation
    ) async throws(KeychainError) -> SecretBytes

    /// Forgets the item; nothing happens where there is none.
    func remove(_ name: String) throws(KeychainError)
}

/// Why a keychain did not do what it was asked; nothing has changed.
public enum KeychainError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no such item: it never was, or the app was restored to another phone.
    case notFound
    /// The prompt ended otherwise than confirmed.
    case prompt(PromptResult)
    /// The phone's screen is locked: nothing can be read now.
    case screenLocked
    /// The phone has no passcode or nothing enrolled, as the access asks: choose another access.
    case accessImpossible
    /// The keychain's own storage failed: tell the person.
    case storage(String)

    public var description: String {
        switch self {
        case .notFound: "the keychain has no such item"
        case .prompt(let result): "the prompt ended: \(result.rawValue)"
        case .screenLocked: "the phone is locked"
        case .accessImpossible: "the phone cannot guard an item in this way"
        case .storage(let reason): reason
        }
    }
}
