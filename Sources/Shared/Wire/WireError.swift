/// An error that prevents bytes from being read as a message.
///
/// It only contains names and ids, never data from the peer, so it is safe to log.
package enum WireError: Error, Hashable, Sendable {
    /// The bytes are not the expected protobuf message.
    ///
    /// Close the connection.
    case notProtobuf
    /// The message requires more memory than ``decodingBudget(frameByteCount:)``.
    ///
    /// Close the connection.
    case overBudget
    /// A value has the wrong length or is out of range, or a string is not UTF-8 or has a zero byte (`text`).
    ///
    /// Answer `malformed` with the id and continue.
    case invalid(WireField, id: UInt64?)
    /// A required part is missing.
    ///
    /// Answer `malformed` with the id and continue.
    case missing(WireField, id: UInt64?)
    /// A signed body contains an unknown field, so the server would only act on part of the signed statement.
    ///
    /// Answer `malformed` and continue.
    case unknownField
    /// A signed body contains an unknown instruction. Answer `unsupported` and continue.
    case unknownInstruction

    /// The call id, if it was readable.
    package var id: UInt64? {
        switch self {
        case .invalid(_, let id), .missing(_, let id): id
        case .notProtobuf, .overBudget, .unknownField, .unknownInstruction: nil
        }
    }

    /// Returns the memory limit for decoding a frame of the given length, in bytes.
    package static func decodingBudget(frameByteCount: Int) -> Int {
        4 * frameByteCount + 16 * 1024
    }
}

/// The name of a message field, for errors and logs.
package enum WireField: String, Hashable, Sendable {
    case appVersion, attemptID, attempts, attemptsLeft, attestation, attestationObject, call
    case candidatePublicKey, certificates, correlationID, counter, deletionCode, deviceFacts
    case deviceProof, error, expiresAt, features, instruction, keyID, limits, maxInFlight
    case message, model, newPINKeyID, newPINSignature, newPublicKey, nextPresenceShare, nextUnlockShare
    case osVersion, pinKeyID
    case pinLength, pinPublicKey, pinSignature, pinState, platform, policy
    case presenceShare, reason, receipt, receiptKeys, recoveryCode, remaining, result, retryAfter, revocation
    case revokedAt, serverTime, sessionLifetime, solution, source, status, text, token, tokenLifetime
    case unlockShare, update, walletID
}

/// A ``WireError`` without the call id.
enum FieldFault: Error {
    case invalid(WireField)
    case missing(WireField)
    case unknownField, unknownInstruction

    /// Returns the error for the message with the given id.
    func wireError(id: UInt64?) -> WireError {
        switch self {
        case .invalid(let field): .invalid(field, id: id)
        case .missing(let field): .missing(field, id: id)
        case .unknownField: .unknownField
        case .unknownInstruction: .unknownInstruction
        }
    }
}
