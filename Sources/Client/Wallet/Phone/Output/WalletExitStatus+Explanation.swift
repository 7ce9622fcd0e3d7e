extension WalletExitStatus {
    /// An explanation of the exit status, which is also used as an outcome in `wallet drive`.
    package var explanation: String {
        switch self {
        case .done: "The command reached its goal."
        case .wrongPIN: "The PIN was wrong, and the attempt was counted."
        case .blocked: "The wallet is blocked for a time; no PIN was checked. Wait, or advance the lab's clock."
        case .blockedPermanently: "The wallet is blocked permanently. Only a new wallet helps."
        case .revoked: "The wallet or the whole solution is revoked; the screen states the reason."
        case .deviceInsecure: "The phone is rooted, or the server rejected its attestation."
        case .noInternet: "The phone has no network: its `network` is `off`."
        case .serverUnreachable: "The server did not answer, or cannot take calls; the line `error` has the cause."
        case .updateNeeded: "The update policy blocks this version of the app."
        case .cancelled: "A prompt or a confirmation was cancelled, or a PIN or a biometric was not accepted."
        case .usage: "The command, a file or an option is wrong; nothing was done."
        case .failed: "Something else failed; the screen or the line `error` has the cause."
        case .homeInUse: "Another process uses the wallet's home. End it first."
        }
    }
}
