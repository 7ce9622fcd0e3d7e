/// The reason why bytes are not a valid message.
///
/// This only contains names and ids, never data from the peer, so it is safe to log.
package enum WireError: Error, Hashable, Sendable {
    /// The bytes are not the expected protobuf message; close the connection.
    case notProtobuf
    /// The message needs more memory than ``decodingBudget(frameByteCount:)``; close the connection.
    case overBudget
    /// A value has the wrong length or is out of range; answer `malformed` to the id and continue.
    case invalid(WireField, id: UInt64?)
    /// A required part is missing; answer `malformed` to the id and continue.
    case missing(WireField, id: UInt64?)
    /// A signed body contains an unknown field, so the server would only be acting on part of the signed statement.
    /// Answer `malformed` and continue.
    case unknownField
    /// A signed body contains an unknown instruction. Answer `unsupported` and continue.
    case unknownInstruction

    /// The id of the call, if it was readable.
    package var id: UInt64? {
        switch self {
        case .invalid(_, let id), .missing(_, let id): id
        case .notProtobuf, .overBudget, .unknownField, .unknownInstruction: nil
        }
    }

    /// The memory limit for decoding a frame of this length, in bytes.
    package static func decodingBudget(frameByteCount: Int) -> Int {
        4 * frameByteCount + 16 * 1024
    }
}

/// The name of a message field, for errors and logs.
package enum WireField: String, Hashable, Sendable {
    case appVersion, attemptID, attemptsLeft, attestation, attestationObject, block, call
    case candidatePublicKey, certificates, correlationID, counter, deletionCode, deviceFacts
    case deviceProof, error, expiresAt, features, instruction, keyID, limits, maxInFlight
    case message, model, newPINKeyID, newPINSignature, newPublicKey, nextPresenceShare, nextUnlockShare
    case osVersion, pinKeyID
    case pinLength, pinNonceY, pinPublicKey, pinSignature, pinState, platform, policy
    case presenceShare, reason, receipt, receiptKeys, recoveryCode, remaining, result, retryAfter, revocation
    case revokedAt, serverTime, sessionLifetime, solution, source, status, token, tokenLifetime
    case unlockShare, update, walletID
}

/// A ``WireError`` without the id of the call.
enum FieldFault: Error {
    case invalid(WireField)
    case missing(WireField)
    case unknownField
    case unknownInstruction

    /// The error for a message with this id.
    func wireError(id: UInt64?) -> WireError {
        switch self {
        case .invalid(let field): .invalid(field, id: id)
        case .missing(let field): .missing(field, id: id)
        case .unknownField: .unknownField
        case .unknownInstruction: .unknownInstruction
        }
    }
}
