public import Vocabulary

/// A recovery code in a test, written as text.
extension RecoveryCode: ExpressibleByStringLiteral {
    /// - Precondition: The text is a recovery code.
    public init(stringLiteral text: StaticString) {
        do throws(SecretTextProblem) {
            try self.init(reading: "\(text)".utf8)
        } catch {
            preconditionFailure("the recovery code \(error)")
        }
    }
}
