package import Transport
package import Vocabulary
package import Wire

/// Why a wallet got no result.
package enum FleetFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no connection: the same again later, except where the server is not trusted.
    case connect(ConnectError)
    /// No answer: whether the server did what was asked is not known.
    case call(CallError)
    /// The server said why not.
    case refused(Refusal.Reason)
    /// The wallet is revoked: use another.
    case revoked(Revocation)
    /// The share is not the wallet's own: the server is broken, or it is another's.
    case falseShare
    /// The server names a PIN key that this wallet never had: register it anew.
    case strangePINKey
    /// An answer to another question: the server is broken.
    case unexpectedAnswer
    /// The file of wallets failed: end the run.
    case fleet(FleetError)

    /// A stable name, for counting.
    package var reason: String {
        switch self {
        case .connect(let error): "connect:\(error.name)"
        case .call(let error): error.name
        case .refused(let reason): "refused:\(reason.name)"
        case .revoked: "revoked"
        case .falseShare: "false-share"
        case .strangePINKey: "strange-pin-key"
        case .unexpectedAnswer: "unexpected-answer"
        case .fleet: "wallets-file"
        }
    }

    package var description: String {
        switch self {
        case .connect(let error): "no connection: \(error.sentence)"
        case .call(.closed): "the connection ended before the answer came"
        case .call(.timedOut): "no answer in time"
        case .call(.malformed): "the answer cannot be read"
        case .call(.cancelled): "given up before the answer came"
        case .refused(let reason): "the server refused: \(reason.sentence)"
        case .revoked(let revocation): "the wallet is revoked (\(revocation.reason))"
        case .falseShare: "the server gave a share that is not this wallet's"
        case .strangePINKey: "the server has another PIN on file than any that this wallet chose"
        case .unexpectedAnswer: "the server answered another question"
        case .fleet(let error): error.description
        }
    }

    /// Whether this wallet is of no use any more, whatever others are: it was revoked, or the server does not know it.
    package var isTheWalletsOwn: Bool {
        switch self {
        case .revoked, .refused(.authenticationFailed): true
        default: false
        }
    }

    /// Whether the same may succeed a little later.
    package var isTransient: Bool {
        switch self {
        case .connect(.tls(let failure)): failure == .endedEarly || failure == .timedOut
        case .connect, .call(.closed), .call(.timedOut): true
        case .refused(.rateLimited), .refused(.unavailable): true
        case .call, .refused, .revoked, .falseShare, .strangePINKey, .unexpectedAnswer, .fleet: false
        }
    }
}

extension ConnectError {
    fileprivate var name: String {
        switch self {
        case .noRoute: "no-route"
        case .refused: "refused"
        case .timedOut: "timeout"
        case .tls(let failure): failure.name
        }
    }

    fileprivate var sentence: String {
        switch self {
        case .noRoute: "no way to that address, or the name is unknown"
        case .refused: "nothing listens there"
        case .timedOut: "no answer in time"
        case .tls(let failure): failure.sentence
        }
    }
}

extension TLSFailure {
    fileprivate var name: String {
        switch self {
        case .untrusted: "untrusted"
        case .wrongName: "wrong-name"
        case .noCommonProtocol: "no-common-protocol"
        case .refusedByPeer: "tls-alert"
        case .endedEarly: "closed"
        case .timedOut: "timeout"
        case .broken: "tls-broken"
        }
    }

    fileprivate var sentence: String {
        switch self {
        case .untrusted(let words): "its certificate is not one that the given authority vouches for (\(words))"
        case .wrongName: "its certificate is for another name"
        case .noCommonProtocol: "it does not speak remote-pin/1"
        case .refusedByPeer(let alert): "it ended the handshake with alert \(alert)"
        case .endedEarly: "it closed the connection at once; it may have as many as it takes (limits.connections)"
        case .timedOut: "the handshake took too long"
        case .broken(let words): "it does not speak TLS 1.3 (\(words))"
        }
    }
}

extension CallError {
    fileprivate var name: String {
        switch self {
        case .closed: "closed"
        case .timedOut: "timeout"
        case .malformed: "malformed-answer"
        case .cancelled: "cancelled"
        }
    }
}

extension Refusal.Reason {
    /// As docs/protocol.md calls it.
    fileprivate var name: String {
        switch self {
        case .malformed: "malformed"
        case .unsupported: "unsupported"
        case .sessionRequired: "session-required"
        case .authenticationFailed: "authentication-failed"
        case .outOfOrder: "out-of-order"
        case .challengeInvalid: "challenge-invalid"
        case .attestationRejected: "attestation-rejected"
        case .notAllowed: "not-allowed"
        case .revoked: "revoked"
        case .pinKeyChanged: "pin-key-changed"
        case .rateLimited: "rate-limited"
        case .unavailable: "unavailable"
        case .internal: "internal"
        }
    }

    fileprivate var sentence: String {
        switch self {
        case .attestationRejected(let check): "\(self.name) (\(check))"
        default: self.name
        }
    }
}
