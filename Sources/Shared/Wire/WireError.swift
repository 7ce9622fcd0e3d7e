/// Why bytes are not a message, and what the receiver does next.
///
/// Names and lengths only: it never carries what the peer sent, so it is safe to log.
package enum WireError: Error, Hashable, Sendable {
    /// Not the protobuf message that was expected; as a frame it ends the connection.
    case notProtobuf
    /// Would take more memory than ``decodingBudget(frameByteCount:)`` allows; as a frame it ends the connection.
    case overBudget
    /// A value of the wrong length or outside its range; answer `malformed` to the id, and go on.
    case invalid(WireField, id: UInt64?)
    /// A part that must be there is not; answer `malformed` to the id, and go on.
    case missing(WireField, id: UInt64?)
    /// A signed body says something that this version does not know, so that it would act on half of what was signed;
    /// answer `malformed`, and go on.
    case unknownField
    /// A signed body holds an instruction that this version does not know; answer `unsupported`, and go on.
    case unknownInstruction

    /// The id of the call, where it could be read.
    package var id: UInt64? {
        switch self {
        case .invalid(_, let id), .missing(_, let id): id
        case .notProtobuf, .overBudget, .unknownField, .unknownInstruction: nil
        }
    }

    /// Memory that decoding a frame of this length may take at most, in bytes.
    package static func decodingBudget(frameByteCount: Int) -> Int {
        4 * frameByteCount + 16 * 1024
    }
}

/// Names a field of a message, for errors and logs.
package enum WireField: String, Hashable, Sendable {
    case after, appID, appVersion, attemptID, attemptsLeft, attestation, attestationObject
    case attested, backup, block, byMilliseconds, call, candidatePublicKey, certificates
    case changedAt, command, commits, condition, correlationID, counter, deletionCode, deniedAt
    case deniedEntry, deviceFacts, deviceProof, environment, epoch, error, expiresAt, failures
    case features, fetchedAt, flag, instruction, keyID, keyVersions, limit, limits, logLevel, mac
    case maxInFlight, message, model, newPINKeyID, newPINSignature, newPublicKey, now, osVersion
    case path, pinCounts, pinKeyID, pinLength, pinNonceY, pinPublicKey, pinSignature, pinState
    case platform, platforms, policy, presenceShare, problem, reason, recoveryCode, registeredAt
    case remaining, result, retryAfter, revocation, revokedAt, rollout, round, rules, serverTime
    case session, sessionLifetime, solution, source, startedAt, status, takenAt, token
    case tokenLifetime, unlockShare, update, upkeepState, version, versionRange, walletCounts
    case walletID, walletIDs, warnUntil
}

/// A ``WireError`` before the id of the call is known.
enum FieldFault: Error {
    case invalid(WireField)
    case missing(WireField)
    case unknownField
    case unknownInstruction

    /// The error to throw for a message of this id.
    func wireError(id: UInt64?) -> WireError {
        switch self {
        case .invalid(let field): .invalid(field, id: id)
        case .missing(let field): .missing(field, id: id)
        case .unknownField: .unknownField
        case .unknownInstruction: .unknownInstruction
        }
    }
}
