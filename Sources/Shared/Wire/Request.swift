internal import RemotePINProto
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
    /// The signature by the new PIN's key; only present for ChangePIN.
    package var newPINSignature: P256Signature?

    package init(counter: UInt64, body: [UInt8], pinSignature: P256Signature, newPINSignature: P256Signature? = nil) {
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

extension Request {
    /// Encodes this as the payload of a frame.
    ///
    /// ``Call/unknown`` is encoded as a request without a call.
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__request__init) { root in
            root.set(\.id, self.id)
            self.call.write(to: root)
        }
    }

    /// Decodes the payload of a frame and checks every length and range.
    ///
    /// Unknown fields are ignored, and an unknown call is decoded as ``Call/unknown``, so that clients can be newer
    /// than the server.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try decode(frame, remotepin__v1__request__unpack, id: \.id) { root throws(FieldFault) in
            Request(id: root.id, call: try Call(reading: root))
        }
    }
}

extension Call {
    fileprivate func write(to root: MessageWriter<Remotepin__V1__Request>) {
        switch self {
        case .hello(let hello):
            root.set(\.call_case, REMOTEPIN__V1__REQUEST__CALL_HELLO)
            hello.write(to: root.add(\.hello, remotepin__v1__hello_request__init))
        case .beginEnrollment:
            root.set(\.call_case, REMOTEPIN__V1__REQUEST__CALL_BEGIN_ENROLLMENT)
            root.add(\.begin_enrollment, remotepin__v1__begin_enrollment_request__init)
        case .register(let register):
            root.set(\.call_case, REMOTEPIN__V1__REQUEST__CALL_REGISTER)
            register.write(to: root.add(\.register_, remotepin__v1__register_request__init))
        case .openSession(let openSession):
            root.set(\.call_case, REMOTEPIN__V1__REQUEST__CALL_OPEN_SESSION)
            openSession.write(to: root.add(\.open_session, remotepin__v1__open_session_request__init))
        case .instruct(let instruct):
            root.set(\.call_case, REMOTEPIN__V1__REQUEST__CALL_INSTRUCT)
            instruct.write(to: root.add(\.instruct, remotepin__v1__instruct_request__init))
        case .revokeWithCode(let code):
            root.set(\.call_case, REMOTEPIN__V1__REQUEST__CALL_REVOKE_WITH_CODE)
            root.add(\.revoke_with_code, remotepin__v1__revoke_with_code_request__init).set(\.deletion_code, code)
        case .reportWipe:
            root.set(\.call_case, REMOTEPIN__V1__REQUEST__CALL_REPORT_WIPE)
            root.add(\.report_wipe, remotepin__v1__report_wipe_request__init)
        case .confirmShares(let confirmation):
            root.set(\.call_case, REMOTEPIN__V1__REQUEST__CALL_CONFIRM_SHARES)
            confirmation.write(to: root.add(\.confirm_shares, remotepin__v1__confirm_shares_request__init))
        case .unknown: break
        }
    }

    fileprivate init(reading root: MessageReader<Remotepin__V1__Request>) throws(FieldFault) {
        switch root.call_case {
        case REMOTEPIN__V1__REQUEST__CALL_HELLO: self = .hello(try Hello(reading: root.part(\.hello, .call)))
        case REMOTEPIN__V1__REQUEST__CALL_BEGIN_ENROLLMENT: self = .beginEnrollment
        case REMOTEPIN__V1__REQUEST__CALL_REGISTER:
            self = .register(try Register(reading: root.part(\.register_, .call)))
        case REMOTEPIN__V1__REQUEST__CALL_OPEN_SESSION:
            self = .openSession(try OpenSession(reading: root.part(\.open_session, .call)))
        case REMOTEPIN__V1__REQUEST__CALL_INSTRUCT:
            self = .instruct(try Instruct(reading: root.part(\.instruct, .call)))
        case REMOTEPIN__V1__REQUEST__CALL_REVOKE_WITH_CODE:
            let message = try root.part(\.revoke_with_code, .call)
            self = .revokeWithCode(try message.text(\.deletion_code, .deletionCode, in: 18...64))
        case REMOTEPIN__V1__REQUEST__CALL_REPORT_WIPE: self = .reportWipe
        case REMOTEPIN__V1__REQUEST__CALL_CONFIRM_SHARES:
            self = .confirmShares(try ConfirmShares(reading: root.part(\.confirm_shares, .call)))
        default: self = .unknown
        }
    }
}

extension Hello {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__HelloRequest>) {
        message.set(\.app_version, self.appVersion.description)
        switch self.platform {
        case .android: message.set(\.platform, REMOTEPIN__V1__PLATFORM__PLATFORM_ANDROID)
        case .iOS: message.set(\.platform, REMOTEPIN__V1__PLATFORM__PLATFORM_IOS)
        }
        message.set(\.os_version, self.osVersion.description)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__HelloRequest>) throws(FieldFault) {
        let platform: Platform
        switch message.platform {
        case REMOTEPIN__V1__PLATFORM__PLATFORM_ANDROID: platform = .android
        case REMOTEPIN__V1__PLATFORM__PLATFORM_IOS: platform = .iOS
        default: throw .invalid(.platform)
        }
        self.init(
            appVersion: try message.appVersion(\.app_version),
            platform: platform,
            osVersion: try message.osVersion(\.os_version)
        )
    }
}

extension Register {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__RegisterRequest>) {
        message.set(\.token, self.token)
        message.set(\.body, self.body)
        message.set(\.pin_signature, self.pinSignature)
        message.set(\.device_proof, self.deviceProof.bytes)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__RegisterRequest>) throws(FieldFault) {
        self.init(
            token: try message.bytes(\.token, .token, in: Enrollment.allowedTokenByteCounts),
            body: try message.bytes(\.body, .message),
            pinSignature: try message.fixed(\.pin_signature, .pinSignature),
            deviceProof: try DeviceProof(
                copied: message.bytes(\.device_proof, .deviceProof, in: DeviceProof.allowedByteCounts)
            )
        )
    }
}

extension DeviceProof {
    fileprivate init(copied bytes: [UInt8]) throws(FieldFault) {
        guard let proof = DeviceProof(bytes) else { throw .invalid(.deviceProof) }
        self = proof
    }
}

extension OpenSession {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__OpenSessionRequest>) {
        message.set(\.wallet_id, self.walletID)
        message.set(\.body, self.body)
        message.set(\.device_proof, self.deviceProof.bytes)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__OpenSessionRequest>) throws(FieldFault) {
        self.init(
            walletID: try message.fixed(\.wallet_id, .walletID),
            body: try message.bytes(\.body, .message),
            deviceProof: try DeviceProof(
                copied: message.bytes(\.device_proof, .deviceProof, in: DeviceProof.allowedByteCounts)
            )
        )
    }
}

extension Instruct {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__InstructRequest>) {
        message.set(\.counter, self.counter)
        message.set(\.body, self.body)
        message.set(\.pin_signature, self.pinSignature)
        message.set(\.new_pin_signature, self.newPINSignature)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__InstructRequest>) throws(FieldFault) {
        guard message.counter >= 1 else { throw .invalid(.counter) }
        self.init(
            counter: message.counter,
            body: try message.bytes(\.body, .message),
            pinSignature: try message.fixed(\.pin_signature, .pinSignature),
            newPINSignature: message.isEmpty(\.new_pin_signature)
                ? nil : try message.fixed(\.new_pin_signature, .newPINSignature)
        )
    }
}

extension ConfirmShares {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__ConfirmSharesRequest>) {
        message.set(\.unlock, self.unlock)
        message.set(\.presence, self.presence)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__ConfirmSharesRequest>) {
        self.init(unlock: message.unlock != 0, presence: message.presence != 0)
    }
}
