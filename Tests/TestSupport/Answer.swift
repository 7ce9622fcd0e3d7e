internal import Crypto
package import Secrets
package import Transport
package import Vocabulary
package import Wire

/// An answer without its secrets, so that tests can compare it.
package enum Answer: Hashable, Sendable {
    /// With the share that came, in hexadecimal.
    case valid(share: String)
    case pinChanged
    case recoveryCodeLinked
    case deletionCode(DeletionCode)
    case wrong(PINState)
    case blocked(remaining: Duration)
    case blockedPermanently
    case refused(Refusal.Reason)
    /// Any other answer, by its name.
    case other(String)
    /// The connection ended instead.
    case closed

    /// Reduces an answer to what tests compare.
    package init(_ result: CallResult) {
        switch result {
        case .instruct(.pinValid(let share)): self = .valid(share: share.exposedBytes().hex)
        case .instruct(.pinChanged): self = .pinChanged
        case .instruct(.recoveryCodeLinked): self = .recoveryCodeLinked
        case .instruct(.deletionCode(let code)): self = .deletionCode(code)
        case .instruct(.wrong(let state)): self = .wrong(state)
        case .instruct(.blocked(let remaining)): self = .blocked(remaining: remaining)
        case .instruct(.blockedPermanently): self = .blockedPermanently
        case .refused(let refusal): self = .refused(refusal.reason)
        case .hello: self = .other("hello")
        case .beginEnrollment: self = .other("beginEnrollment")
        case .register: self = .other("register")
        case .openSession(.active): self = .other("active")
        case .openSession(.revoked(let revocation)): self = .other("revoked \(revocation.reason.rawValue)")
        case .revokeWithCode(.revoked): self = .other("revoked")
        case .revokeWithCode(.notRecognised): self = .other("not recognised")
        case .reportWipe: self = .other("reportWipe")
        }
    }

    package var isValid: Bool {
        if case .valid = self { return true }
        return false
    }

    package var isWrong: Bool {
        if case .wrong = self { return true }
        return false
    }
}

extension ClientConnection {
    /// Makes a call; a connection that ends is an answer too.
    package func answer(_ call: Call) async -> Answer {
        do throws(CallError) {
            return Answer(try await self.call(call, timeout: TestWallet.patience))
        } catch {
            return error == .closed ? .closed : .other("\(error)")
        }
    }
}

extension TestSession {
    /// Has a PIN checked, and says what became of it.
    package func check(_ pin: String, attempt: AttemptID = .random()) async throws -> Answer {
        try await self.answer(.checkPIN, pin: pin, attempt: attempt)
    }

    /// Gives an instruction, and says what became of it.
    package func answer(
        _ instruction: Instruction,
        pin: String,
        attempt: AttemptID = .random()
    ) async throws -> Answer {
        let call = try self.instructCall(instruction, pin: pin, attemptID: attempt)
        return await self.connection.answer(.instruct(call))
    }
}

extension Share {
    /// The answer that a wallet with this share as its unlock share gets for its PIN.
    package var asValid: Answer { .valid(share: self.exposedBytes().hex) }
}
