/// The cause of a failure shown on an error screen, identified by its code in docs/wallet-errors.md.
///
/// The code itself is not displayed on the screen. It is used in machine-readable output and scenario reports, and
/// it is part of the id that users can quote. The meaning of a code never changes.
package enum FailureCause: String, Hashable, Sendable, CaseIterable {
    // Server unreachable.
    /// No program accepts connections at the server's address.
    case connectionRefused = "connection-refused"
    /// The server's host did not answer in time.
    case connectionTimedOut = "connection-timed-out"
    /// The connection ended, or no answer arrived in time.
    case connectionLost = "connection-lost"
    /// The server's certificate is not trusted by the wallet.
    case certificateUntrusted = "certificate-untrusted"
    /// The server's certificate is trusted, but it is for a different name.
    case certificateName = "certificate-name"
    /// The peer does not speak the protocol, or the data was modified in transit.
    case tlsFailed = "tls-failed"
    /// The server is currently unable to handle the call.
    case serverUnavailable = "server-unavailable"
    /// The server is rate-limiting calls.
    case serverRateLimited = "server-rate-limited"
    /// The vendor's attestation service could not be reached.
    case attestationService = "attestation-service"

    // Something went wrong with the wallet's data on this device.
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
    /// The server does not know a wallet with this id and hardware key.
    case walletUnknown = "wallet-unknown"
    /// The server's PIN key does not belong to any PIN on this device.
    case pinKeyUnknown = "pin-key-unknown"
    /// The access data cannot be opened with the right key, or the file is missing.
    case accessData = "access-data"
    /// The share sent by the server does not open anything.
    case shareOpensNothing = "share-opens-nothing"
    /// An operation needs the keychain item, but it has not been opened by a prompt.
    case itemNotOpened = "item-not-opened"
    /// An operation needs an unlocked wallet or a registration.
    case notReady = "not-ready"

    // Something went wrong in the communication with the server.
    /// A different PIN change was executed first.
    case changeSuperseded = "change-superseded"
    /// A different message has registered another PIN key for this wallet.
    case registrationReplaced = "registration-replaced"
    /// The server's answer violates the protocol.
    case replyMalformed = "reply-malformed"
    /// The server's answer is for a different type of call.
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

    /// The ways to leave the error screen, besides Close.
    package enum WayOut: Hashable, Sendable {
        case retry, retryOrReset
        /// Trying again would never succeed, because the wallet cannot be opened on this device.
        case reset
    }

    package var wayOut: WayOut {
        switch self {
        case .hardwareKeyMissing, .pinKeyUnknown, .accessData: .reset
        // The server does not say why it rejects a proof. On iOS, the next one may be accepted.
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
