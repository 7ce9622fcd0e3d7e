package import Transport
package import Vocabulary
package import Wire

/// A reason why an operation on a wallet has no result.
package enum FleetFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No connection could be established.
    ///
    /// Retry later, unless the server is not trusted.
    case connect(ConnectError)
    /// No response arrived.
    ///
    /// The server may or may not have executed the call.
    case call(CallError)
    case refused(Refusal.Reason)
    /// The wallet is revoked.
    ///
    /// Use another wallet.
    case revoked(Revocation)
    /// The share belongs to a different wallet.
    ///
    /// The server is faulty or not the right one.
    case falseShare
    /// The server names a PIN key that this wallet never had.
    ///
    /// Register the wallet again.
    case strangePINKey
    /// The response does not match the request.
    ///
    /// The server is faulty.
    case unexpectedAnswer
    /// The wallet file failed.
    ///
    /// End the run.
    case fleet(FleetError)

    /// A stable name, used for counting.
    package var reason: String {
        switch self {
        case .connect(let error): "connect:\(error.name)"
        case .call(let error): error.name
        case .refused(let reason): "refused:\(reason.code.rawValue)"
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
        case .call(.closed): "the connection closed before the response arrived"
        case .call(.timedOut): "no response within the timeout"
        case .call(.malformed): "the response cannot be decoded"
        case .call(.cancelled): "cancelled before the response arrived"
        case .refused(let reason): "the server refused: \(reason.sentence)"
        case .revoked(let revocation): "the wallet is revoked (\(revocation.reason))"
        case .falseShare: "the server returned a share that is not this wallet's"
        case .strangePINKey: "the server's PIN key is not one that this wallet chose"
        case .unexpectedAnswer: "the response does not belong to the request"
        case .fleet(let error): error.description
        }
    }

    /// Whether the failure only affects this wallet: it was revoked, or it is unknown to the server.
    package var concernsOnlyThisWallet: Bool {
        switch self {
        case .revoked, .refused(.authenticationFailed): true
        default: false
        }
    }

    /// Whether a retry may succeed a little later.
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
        case .noRoute: "no route to that address, or the name is unknown"
        case .refused: "nothing listens there"
        case .timedOut: "no response within the timeout"
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
        case .untrusted(let words): "its certificate is not signed by the given authority (\(words))"
        case .wrongName: "its certificate is for another name"
        case .noCommonProtocol: "it does not speak remote-pin/1"
        case .refusedByPeer(let alert): "it ended the handshake with alert \(alert)"
        case .endedEarly: "it closed the connection at once; it may be at its limit (limits.connections)"
        case .timedOut: "the handshake timed out"
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
    fileprivate var sentence: String {
        switch self {
        case .attestationRejected(let check): "\(self.code.rawValue) (\(check))"
        default: self.code.rawValue
        }
    }
}

/// Exponential back-off with jitter, so that clients do not all reconnect at the same moment when a server comes back.
package struct Backoff: Sendable {
    package static let first: Duration = .milliseconds(50)
    package static let longest: Duration = .seconds(2)

    private var next = Self.first

    package init() {}

    /// Returns the pause after a failure.
    ///
    /// It doubles each time, up to ``longest``, and is then reduced at random by up to half.
    package mutating func nextPause(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { self.next = min(self.next * 2, Self.longest) }
        return self.next * Double.random(in: 0.5...1, using: &generator)
    }

    /// Starts over after a success.
    package mutating func reset() { self.next = Self.first }
}
