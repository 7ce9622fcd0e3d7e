package import WalletFlows

extension FailureCause {
    /// An explanation of the code and the next step, as given in docs/wallet-errors.md.
    package var explanation: String {
        switch self {
        case .connectionRefused:
            """
            No process accepts connections at the server's address. Check the address, and whether the server \
            runs.
            """
        case .connectionTimedOut:
            """
            The host did not answer in time, or the phone's `network` is `unreachable`. Check the address and \
            the firewall.
            """
        case .connectionLost:
            "The connection ended, or no answer came within 20 seconds. Try again; look at the server's log."
        case .certificateUntrusted:
            """
            The server's certificate is not signed by the wallet's authority, does not have its pinned key, or \
            has expired. Check `ca_file`, `public_keys` and the lab.
            """
        case .certificateName: "The certificate is trusted, but for another name. Check `server_name`."
        case .tlsFailed:
            """
            The peer does not speak the wallet's protocol, or the bytes were changed on the way. Check the \
            port and proxies.
            """
        case .serverUnavailable:
            "The server cannot take the call at present. Look at its readiness and its log."
        case .serverRateLimited: "The server limits the number of calls. Wait, or change its limits."
        case .attestationService: "The vendor's attestation service could not be reached. Try again."
        case .hardwareKeyMissing:
            """
            The phone has no hardware key for this wallet: the app was restored to another phone. Reset the \
            wallet.
            """
        case .walletUnknown:
            """
            The server knows no wallet with this id and this hardware key: the app's files are those of \
            another phone, or the server's store is of another lab, or older than the wallet. On iOS another \
            copy of the phone may have used the key; then another try succeeds.
            """
        case .pinKeyUnknown:
            """
            The server's PIN key belongs to no PIN in the app's files: they are older than a PIN change, or \
            the server's store is. Restore the newer files, or reset the wallet.
            """
        case .accessData:
            """
            The right PIN does not open `access.sealed`, or the file is missing: it is damaged, or belongs to \
            another wallet. Reset the wallet.
            """
        case .storage:
            """
            The app's files cannot be read or written. Check the disk and the permissions of the wallet's \
            home.
            """
        case .keychain: "The phone's keychain failed or lost a new item. Check the files in `device/`."
        case .deviceStorage:
            """
            The phone's secure hardware failed, or a key hook. Check the files in `device/` and the hook's \
            message.
            """
        case .deviceFormat:
            "The phone's evidence or proof does not have its platform's format. Check the key hook."
        case .shareOpensNothing:
            """
            The share that the server sent opens nothing. The peer is not the wallet's server, or a slot is \
            damaged.
            """
        case .itemNotOpened:
            """
            The operation needs the keychain item of the safe mode, which no prompt has opened. Start the \
            operation again.
            """
        case .notReady: "The operation needs an unlocked wallet or a registration. Report it."
        case .changeSuperseded: "Another PIN change was executed first. Unlock with the PIN of that change."
        case .registrationReplaced:
            "Another message registered another PIN key for this wallet, twice. Try again."
        case .replyMalformed: "The answer violates the protocol. Compare the versions of wallet and server."
        case .replyUnexpected:
            "The answer belongs to another call. Compare the versions of wallet and server."
        case .serverMalformed:
            "The server could not read the call. Compare the versions of wallet and server."
        case .serverUnsupported:
            "The server does not know the call. Compare the versions of wallet and server."
        case .serverSessionRequired: "The session ended several times during one operation. Try again."
        case .serverAuthenticationFailed:
            "The server rejected a signature or a proof. Look for the id in its log."
        case .serverOutOfOrder:
            "Another connection of the same wallet uses the same session counter. Try again."
        case .serverChallengeInvalid:
            "The enrollment expired or was used, even after a second try. Try again."
        case .serverNotAllowed:
            "The call is not permitted in this state of the wallet. Look for the id in the server's log."
        case .serverPINKeyChanged: "The PIN key changed several times during one operation. Try again."
        case .serverInternal: "The server failed. Look for the id in its log."
        }
    }
}
