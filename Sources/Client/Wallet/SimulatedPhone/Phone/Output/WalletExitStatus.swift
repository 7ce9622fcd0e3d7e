package import WalletFlows

/// The outcome of a command.
///
/// The raw value is the exit code and never changes its meaning.
package enum WalletExitStatus: Int32, Hashable, Sendable, CaseIterable {
    case done = 0
    case wrongPIN = 10
    case blocked = 11
    case blockedPermanently = 12
    case revoked = 13
    case deviceInsecure = 14
    case noInternet = 15
    case serverUnreachable = 16
    case updateNeeded = 17
    case cancelled = 18
    case usage = 64
    case failed = 70
    case homeInUse = 75

    /// Converts the obstacle on the last screen, or nil to `done`.
    package init(_ obstacle: Obstacle?) {
        switch obstacle {
        case .none: self = .done
        case .some(.wrongPIN): self = .wrongPIN
        case .some(.blocked): self = .blocked
        case .some(.blockedPermanently): self = .blockedPermanently
        case .some(.revoked): self = .revoked
        case .some(.deviceInsecure): self = .deviceInsecure
        case .some(.noInternet): self = .noInternet
        case .some(.serverUnreachable): self = .serverUnreachable
        case .some(.updateNeeded): self = .updateNeeded
        case .some(.pinNotAccepted), .some(.biometricNotAccepted): self = .cancelled
        case .some(.other): self = .failed
        }
    }

    /// The name in machine-readable output.
    package var outcome: String {
        switch self {
        case .done: "done"
        case .wrongPIN: "wrong-pin"
        case .blocked: "blocked"
        case .blockedPermanently: "blocked-permanently"
        case .revoked: "revoked"
        case .deviceInsecure: "device-insecure"
        case .noInternet: "no-internet"
        case .serverUnreachable: "server-unreachable"
        case .updateNeeded: "update-needed"
        case .cancelled: "cancelled"
        case .usage: "usage"
        case .failed: "failed"
        case .homeInUse: "home-in-use"
        }
    }
}

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
