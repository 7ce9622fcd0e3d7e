package import Vocabulary

/// One call of a client, with the id that its answer repeats.
package struct Request: Sendable {
    package var id: UInt64
    package var call: Call

    package init(id: UInt64, call: Call) {
        self.id = id
        self.call = call
    }
}

/// What a client asks for (docs/protocol.md, Calls).
package enum Call: Sendable {
    case hello(Hello)
    case beginEnrollment
    case register(Register)
    case openSession(OpenSession)
    case instruct(Instruct)
    /// The text as typed; whether it reads as a ``DeletionCode`` is the server's to find, so that a mistyped code and an
    /// unknown one get the same answer.
    case revokeWithCode(String)
    case reportWipe
    /// Well formed, and nothing that this version knows; answered with `unsupported`.
    case unknown
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
    /// `1...256` bytes, as BeginEnrollment gave it.
    package var token: [UInt8]
    /// The bytes of a ``RegisterBody`` as they are signed.
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

/// What the hardware key made of a statement: 64 bytes r‖s, or an App Attest assertion of at most 1024 bytes.
///
/// Which of the two it must be is what was recorded at registration, never what it looks like.
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
    /// The bytes of an ``OpenSessionBody`` as they are signed.
    package var body: [UInt8]
    package var deviceProof: DeviceProof

    package init(walletID: WalletID, body: [UInt8], deviceProof: DeviceProof) {
        self.walletID = walletID
        self.body = body
        self.deviceProof = deviceProof
    }
}

package struct Instruct: Hashable, Sendable {
    /// From 1, by one, in each session.
    package var counter: UInt64
    /// The bytes of an ``InstructBody`` as they are signed.
    package var body: [UInt8]
    package var pinSignature: P256Signature
    /// With ChangePIN only.
    package var newPINSignature: P256Signature?
    /// Lets the server verify `pinSignature` together with others, which is faster; nothing else hangs on it.
    package var pinNonceY: P256NonceY?

    package init(
        counter: UInt64,
        body: [UInt8],
        pinSignature: P256Signature,
        newPINSignature: P256Signature? = nil,
        pinNonceY: P256NonceY? = nil
    ) {
        self.counter = counter
        self.body = body
        self.pinSignature = pinSignature
        self.newPINSignature = newPINSignature
        self.pinNonceY = pinNonceY
    }
}
