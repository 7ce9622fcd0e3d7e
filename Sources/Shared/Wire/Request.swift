package import Vocabulary

/// A call from a client, with an id that is repeated in the response.
package struct Request: Sendable {
    package var id: UInt64
    package var call: Call

    package init(id: UInt64, call: Call) {
        self.id = id
        self.call = call
    }
}

/// A call in the protocol (docs/protocol.md, Calls).
package enum Call: Sendable {
    case hello(Hello)
    case beginEnrollment
    case register(Register)
    case openSession(OpenSession)
    case instruct(Instruct)
    /// The code as it was typed.
    ///
    /// The server parses it as a ``DeletionCode``, so that a mistyped code and an unknown one get the same answer.
    case revokeWithCode(String)
    case reportWipe
    case confirmShares(ConfirmShares)
    /// A well-formed call that is unknown to this version.
    ///
    /// It is answered with `unsupported`.
    case unknown
}

extension Call {
    /// The kind of a known call, with its name in profiles and metrics.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case hello
        case beginEnrollment = "begin-enrollment"
        case register
        case openSession = "open-session"
        case instruct
        case revokeWithCode = "revoke-with-code"
        case reportWipe = "report-wipe"
        case confirmShares = "confirm-shares"
    }

    package var kind: Kind? {
        switch self {
        case .hello: .hello
        case .beginEnrollment: .beginEnrollment
        case .register: .register
        case .openSession: .openSession
        case .instruct: .instruct
        case .revokeWithCode: .revokeWithCode
        case .reportWipe: .reportWipe
        case .confirmShares: .confirmShares
        case .unknown: nil
        }
    }
}

package struct Hello: Hashable, Sendable {
    package var appVersion: AppVersion
    package var platform: Platform
    package var osVersion: DeviceText

    package init(appVersion: AppVersion, platform: Platform, osVersion: DeviceText) {
        self.appVersion = appVersion
        self.platform = platform
        self.osVersion = osVersion
    }
}

package struct Register: Hashable, Sendable {
    /// The token returned by BeginEnrollment, `1...256` bytes.
    package var token: [UInt8]
    /// The signed bytes of a ``RegisterBody``.
    package var body: [UInt8]
    package var pinSignature: P256Signature
    package var deviceProof: DeviceProof

    package init(token: [UInt8], body: [UInt8], pinSignature: P256Signature, deviceProof: DeviceProof) {
        self.token = token
        self.body = body
        self.pinSignature = pinSignature
        self.deviceProof = deviceProof
    }
}

/// The hardware key's proof for a statement: 64 bytes r‖s, or an App Attest assertion of up to 1024 bytes.
///
/// Which one it is only depends on the platform recorded at registration, never on the bytes.
package struct DeviceProof: Hashable, Sendable {
    package let bytes: [UInt8]

    package static let maximumByteCount = 1024
    static let allowedByteCounts = 1...maximumByteCount

    /// Returns nil if the proof is empty or too long.
    package init?(_ bytes: [UInt8]) {
        guard Self.allowedByteCounts.contains(bytes.count) else { return nil }
        self.bytes = bytes
    }
}

package struct OpenSession: Hashable, Sendable {
    package var walletID: WalletID
    /// The signed bytes of an ``OpenSessionBody``.
    package var body: [UInt8]
    package var deviceProof: DeviceProof

    package init(walletID: WalletID, body: [UInt8], deviceProof: DeviceProof) {
        self.walletID = walletID
        self.body = body
        self.deviceProof = deviceProof
    }
}

package struct Instruct: Hashable, Sendable {
    /// The counter, which starts at 1 in each session and is incremented for each instruction.
    package var counter: UInt64
    /// The signed bytes of an ``InstructBody``.
    package var body: [UInt8]
    package var pinSignature: P256Signature
    /// The signature by the new PIN's key.
    ///
    /// Only present for ChangePIN.
    package var newPINSignature: P256Signature?

    package init(
        counter: UInt64,
        body: [UInt8],
        pinSignature: P256Signature,
        newPINSignature: P256Signature? = nil
    ) {
        self.counter = counter
        self.body = body
        self.pinSignature = pinSignature
        self.newPINSignature = newPINSignature
    }
}

/// Confirms that a wallet has sealed its data under the next shares, so that they can replace the current ones.
package struct ConfirmShares: Hashable, Sendable {
    /// Whether the next unlock share should replace the current one.
    package var unlock: Bool
    /// Whether the next presence share should replace the current one.
    package var presence: Bool

    package init(unlock: Bool, presence: Bool) {
        self.unlock = unlock
        self.presence = presence
    }
}
