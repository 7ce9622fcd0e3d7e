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
    case after, appID, appVersion, attemptID, attemptsLeft, attestation, attestationObject, attested, block
    case backup, byMilliseconds, candidatePublicKey, certificates, changedAt, command, commits, condition, correlationID
    case counter, deletionCode, deniedAt, deniedEntry, deviceFacts, deviceProof, environment, error, expiresAt
    case failures, features, fetchedAt, flag, instruction, keyID, keyVersions, limit, limits, logLevel, mac
    case epoch, maxInFlight, message, model, newPINKeyID, pinCounts, session, source, startedAt, version, walletCounts
    case newPINSignature, newPublicKey, now, osVersion, pinKeyID, pinLength, pinNonceY, pinPublicKey, pinSignature,
        pinState
    case path, platform, platforms, problem, policy, presenceShare, reason, recoveryCode, registeredAt, remaining,
        result
    case retryAfter, revocation, revokedAt, rollout, round, rules, serverTime, sessionLifetime, solution, status
    case takenAt, token, tokenLifetime, unlockShare, update, upkeepState, versionRange, walletID, walletIDs, warnUntil
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
