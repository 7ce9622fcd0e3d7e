package import Secrets
package import Transport
package import Vocabulary
package import Wire

/// An answer without its secrets, for comparisons in tests.
package enum VerdictSummary: Hashable, Sendable {
    /// With the released share, in hexadecimal.
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
    /// The connection ended without an answer.
    case closed

    /// Reduces an answer to the parts that tests compare.
    package init(_ result: CallResult) {
        switch result.withoutReceipt {
        case .instruct(.pinValid(let share, _)): self = .valid(share: share.exposedBytes().hex)
        case .instruct(.pinChanged): self = .pinChanged
        case .instruct(.recoveryCodeLinked): self = .recoveryCodeLinked
        case .instruct(.deletionCode(let code)): self = .deletionCode(code)
        case .instruct(.wrong(let state)): self = .wrong(state)
        case .instruct(.blocked(let remaining)): self = .blocked(remaining: remaining)
        case .instruct(.blockedPermanently): self = .blockedPermanently
        case .refused(let refusal): self = .refused(refusal.reason)
        case .judged: self = .other("judged")
        case .hello: self = .other("hello")
        case .beginEnrollment: self = .other("beginEnrollment")
        case .register: self = .other("register")
        case .openSession(.active): self = .other("active")
        case .openSession(.revoked(let revocation)): self = .other("revoked \(revocation.reason.rawValue)")
        case .revokeWithCode(.revoked): self = .other("revoked")
        case .revokeWithCode(.notRecognised): self = .other("not recognised")
        case .reportWipe: self = .other("reportWipe")
        case .confirmShares: self = .other("confirmShares")
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
    /// Makes a call; the end of the connection is an answer too.
    package func answer(_ call: Call) async -> VerdictSummary {
        do throws(CallError) {
            return VerdictSummary(try await self.call(call, timeout: TestWallet.patience))
        } catch {
            return error == .closed ? .closed : .other("\(error)")
        }
    }
}

extension TestSession {
    /// Checks a PIN and returns the answer.
    package func check(_ pin: String, attempt: AttemptID = .random()) async throws -> VerdictSummary {
        try await self.answer(.checkPIN, pin: pin, attempt: attempt)
    }

    /// Gives an instruction and returns the answer.
    package func answer(
        _ instruction: Instruction,
        pin: String,
        attempt: AttemptID = .random()
    ) async throws -> VerdictSummary {
        let call = try self.instructCall(instruction, pin: pin, attemptID: attempt)
        return await self.connection.answer(.instruct(call))
    }
}

extension Share {
    /// The answer to the right PIN of a wallet with this unlock share.
    package var asValid: VerdictSummary { .valid(share: self.exposedBytes().hex) }
}
