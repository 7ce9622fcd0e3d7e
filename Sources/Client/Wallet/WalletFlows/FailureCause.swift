/// The cause of a failure that an error screen reports, by the code in docs/wallet-errors.md.
///
/// It is not part of the text on the screen. It is used in machine-readable output and scenario reports, and it is part
/// of the id quoted by users. The meaning of a code never changes.
package enum FailureCause: String, Hashable, Sendable, CaseIterable {
    // Server unreachable.
    /// No process accepts connections at the server's address.
    case connectionRefused = "connection-refused"
    /// The server's host did not answer in time.
    case connectionTimedOut = "connection-timed-out"
    /// The connection ended, or no answer arrived in time.
    case connectionLost = "connection-lost"
    /// The server's certificate is not trusted by the wallet.
    case certificateUntrusted = "certificate-untrusted"
    /// The server's certificate is trusted, but it is for a different name.
    case certificateName = "certificate-name"
    /// The peer does not speak the protocol, or the bytes were changed on the way.
    case tlsFailed = "tls-failed"
    /// The server cannot handle the call right now.
    case serverUnavailable = "server-unavailable"
    /// The server limits the number of calls.
    case serverRateLimited = "server-rate-limited"
    /// The vendor's attestation service could not be reached.
    case attestationService = "attestation-service"

    // Something went wrong: the data of the wallet on this device.
    /// The app's files cannot be read or written.
    case storage
    /// The phone's keychain failed.
    case keychain
    /// The storage of the phone's secure hardware failed.
    case deviceStorage = "device-storage"
    /// The phone's evidence or proof does not have the format of its platform.
    case deviceFormat = "device-format"
    /// The phone has no hardware key for this wallet.
    case hardwareKeyMissing = "hardware-key-missing"
    /// The server knows no wallet with this id and this hardware key.
    case walletUnknown = "wallet-unknown"
    /// The server's PIN key belongs to no PIN of this device.
    case pinKeyUnknown = "pin-key-unknown"
    /// The access data cannot be opened with the right key, or the file is missing.
    case accessData = "access-data"
    /// The share sent by the server does not open anything.
    case shareOpensNothing = "share-opens-nothing"
    /// An operation needs the keychain item, but it has not been opened by a prompt.
    case itemNotOpened = "item-not-opened"
    /// An operation needs an unlocked wallet or a registration.
    case notReady = "not-ready"

    // Something went wrong: the conversation with the server.
    /// Another PIN change was executed first.
    case changeSuperseded = "change-superseded"
    /// Another message registered another PIN key for this wallet.
    case registrationReplaced = "registration-replaced"
    /// The server's answer violates the protocol.
    case replyMalformed = "reply-malformed"
    /// The server's answer belongs to another call.
    case replyUnexpected = "reply-unexpected"
    case serverMalformed = "server-malformed"
    case serverUnsupported = "server-unsupported"
    case serverSessionRequired = "server-session-required"
    case serverAuthenticationFailed = "server-authentication-failed"
    case serverOutOfOrder = "server-out-of-order"
    case serverChallengeInvalid = "server-challenge-invalid"
    case serverNotAllowed = "server-not-allowed"
    case serverPINKeyChanged = "server-pin-key-changed"
    case serverInternal = "server-internal"

    /// The ways out that the error screen offers besides Close.
    package enum WayOut: Hashable, Sendable {
        case retry
        case retryOrReset
        /// No try will ever succeed: the wallet cannot be opened on this device.
        case reset
    }

    package var wayOut: WayOut {
        switch self {
        case .hardwareKeyMissing, .pinKeyUnknown, .accessData: .reset
        // The server does not tell us why it rejects a proof; on iOS the next one may be accepted.
        case .walletUnknown: .retryOrReset
        case .connectionRefused, .connectionTimedOut, .connectionLost, .certificateUntrusted, .certificateName,
            .tlsFailed, .serverUnavailable, .serverRateLimited, .attestationService, .storage, .keychain,
            .deviceStorage, .deviceFormat, .shareOpensNothing, .itemNotOpened, .notReady, .changeSuperseded,
            .registrationReplaced, .replyMalformed, .replyUnexpected, .serverMalformed, .serverUnsupported,
            .serverSessionRequired, .serverAuthenticationFailed, .serverOutOfOrder, .serverChallengeInvalid,
            .serverNotAllowed, .serverPINKeyChanged, .serverInternal:
            .retry
        }
    }
}
