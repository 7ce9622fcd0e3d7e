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
