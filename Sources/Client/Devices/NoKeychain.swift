internal import Presence
internal import Secrets

/// The keychain of a phone without a passcode: nothing can be guarded, so nothing is kept.
struct NoKeychain: Keychain {
    func names() throws(KeychainError) -> [String] { [] }

    func add(_ secret: borrowing SecretBytes, as name: String, access: UnlockMethod) throws(KeychainError) {
        throw .accessImpossible
    }

    func read(_ name: String, _ prompt: Prompt, _ presentation: Presentation) async throws(KeychainError) -> SecretBytes
    {
        throw .notFound
    }

    func remove(_ name: String) throws(KeychainError) {}
}
