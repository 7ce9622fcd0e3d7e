internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension Request {
    /// Reads one frame's bytes; every length and range has been checked in a value that exists.
    ///
    /// Fields that this version does not know are ignored, and a call it does not know becomes ``Call/unknown``, so that
    /// clients can be newer than the server.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(frame, remotepin__v1__request__unpack) { root throws(WireError) in
            let id = unsafe root.pointee.id
            return Request(id: id, call: try naming(id: id) { () throws(FieldFault) in try unsafe Call(copying: root) })
        }
    }
}

extension Call {
    /// Copies the call out of the tree.
    init(copying root: UnsafeMutablePointer<Remotepin__V1__Request>) throws(FieldFault) {
        switch unsafe root.pointee.call_case {
        case REMOTEPIN__V1__REQUEST__CALL_HELLO:
            self = .hello(try unsafe Hello(copying: root.pointee.hello.pointee))
        case REMOTEPIN__V1__REQUEST__CALL_BEGIN_ENROLLMENT:
            self = .beginEnrollment
        case REMOTEPIN__V1__REQUEST__CALL_REGISTER:
            self = .register(try unsafe Register(copying: root.pointee.register_.pointee))
        case REMOTEPIN__V1__REQUEST__CALL_OPEN_SESSION:
            self = .openSession(try unsafe OpenSession(copying: root.pointee.open_session.pointee))
        case REMOTEPIN__V1__REQUEST__CALL_INSTRUCT:
            self = .instruct(try unsafe Instruct(copying: root.pointee.instruct.pointee))
        case REMOTEPIN__V1__REQUEST__CALL_REVOKE_WITH_CODE:
            self = .revokeWithCode(
                try unsafe text(root.pointee.revoke_with_code.pointee.deletion_code, .deletionCode, in: 18...64)
            )
        case REMOTEPIN__V1__REQUEST__CALL_REPORT_WIPE:
            self = .reportWipe
        default:
            self = .unknown
        }
    }
}

extension Hello {
    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__HelloRequest) throws(FieldFault) {
        let platform: Platform
        switch unsafe message.platform {
        case REMOTEPIN__V1__PLATFORM__PLATFORM_ANDROID: platform = .android
        case REMOTEPIN__V1__PLATFORM__PLATFORM_IOS: platform = .iOS
        default: throw .invalid(.platform)
        }
        self.init(
            appVersion: try unsafe Wire.appVersion(message.app_version),
            platform: platform,
            osVersion: try unsafe Wire.osVersion(message.os_version)
        )
    }
}

extension Register {
    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__RegisterRequest) throws(FieldFault) {
        self.init(
            token: try unsafe message.token.copied(.token, in: Enrollment.allowedTokenByteCounts),
            body: try unsafe message.body.copied(.message, in: 0...(.max)),
            pinSignature: try unsafe message.pin_signature.fixed(.pinSignature),
            deviceProof: try unsafe DeviceProof(copying: message.device_proof)
        )
    }
}

extension DeviceProof {
    /// Copies a proof of allowed length.
    init(copying data: ProtobufCBinaryData) throws(FieldFault) {
        guard let proof = try unsafe DeviceProof(data.copied(.deviceProof, in: 1...Self.maximumByteCount)) else {
            throw .invalid(.deviceProof)
        }
        self = proof
    }
}

extension OpenSession {
    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__OpenSessionRequest) throws(FieldFault) {
        self.init(
            walletID: try unsafe message.wallet_id.fixed(.walletID),
            body: try unsafe message.body.copied(.message, in: 0...(.max)),
            deviceProof: try unsafe DeviceProof(copying: message.device_proof)
        )
    }
}

extension Instruct {
    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__InstructRequest) throws(FieldFault) {
        let counter = unsafe message.counter
        guard counter >= 1 else { throw .invalid(.counter) }
        self.init(
            counter: counter,
            body: try unsafe message.body.copied(.message, in: 0...(.max)),
            pinSignature: try unsafe message.pin_signature.fixed(.pinSignature),
            newPINSignature: unsafe message.new_pin_signature.isEmpty
                ? nil : try unsafe message.new_pin_signature.fixed(.newPINSignature),
            pinNonceY: unsafe message.pin_nonce_y.isEmpty ? nil : try unsafe message.pin_nonce_y.fixed(.pinNonceY)
        )
    }
}
