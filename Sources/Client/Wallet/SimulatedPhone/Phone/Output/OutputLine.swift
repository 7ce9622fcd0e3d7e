internal import ConfigText
package import WalletCore
package import WalletFlows

/// A line of machine-readable output (see docs/wallet-output.schema.json).
///
/// Within version 1, names never change their meaning, but new names may be added. Times are integers in milliseconds
/// and their names end in `Ms`.
package enum OutputLine: Sendable {
    case screen(Screen)
    case step(String)
    case event(String, [String: Screen.Value])
    /// An error.
    ///
    /// `cause` is one of the codes in docs/wallet-errors.md.
    case error(id: String, correlationID: String?, cause: String?, retry: Bool, message: String?)
    case result(WalletExitStatus)
    /// A `wallet drive` command was executed, successfully or not.
    ///
    /// `step` is the current screen's.
    case done(command: String, id: String?, WalletExitStatus, step: String?)
    /// A `wallet drive` command was rejected and had no effect.
    case refused(command: String?, id: String?, reason: String, message: String, nearest: String?)

    /// The version of the output format, included in the first line of a run.
    package static let version = 1

    /// Returns the lines for a wallet event.
    ///
    /// Screens that report a failure get a second line.
    package static func lines(_ event: WalletEvent) -> [OutputLine] {
        switch event {
        case .step(let step): [.step(step.description)]
        case .screen(let screen, let obstacle): [.screen(screen)] + [self.error(screen, obstacle)].compactMap(\.self)
        case .event(let event): [.event(event.name, event.values)]
        case .locked(let isLocked): [.event(isLocked ? "locked" : "unlocked", [:])]
        }
    }

    private static func error(_ screen: Screen, _ obstacle: Obstacle?) -> OutputLine? {
        let id: String
        switch obstacle {
        case .some(.deviceInsecure): id = "device-insecure"
        case .some(.noInternet): id = "no-internet"
        case .some(.serverUnreachable): id = "server-unreachable"
        case .some(.other): id = "generic"
        case .some(.wrongPIN), .some(.blocked), .some(.blockedPermanently), .some(.revoked), .some(.updateNeeded),
            .some(.pinNotAccepted), .some(.biometricNotAccepted), .none:
            return nil
        }
        func text(_ name: String) -> String? {
            if case .text(let text) = screen.values[name] { text } else { nil }
        }
        return .error(
            id: id,
            correlationID: text("correlationID"),
            cause: text("cause"),
            retry: screen.actions.contains { $0.id == .retry },
            message: nil
        )
    }

    /// Returns the line as JSON, without a line break.
    package func json(isFirst: Bool) -> String {
        JSONText.encoded(Fields(line: self, version: isFirst ? Self.version : nil))
    }

    private struct Fields: Encodable {
        let line: OutputLine
        let version: Int?

        enum Key: String, CodingKey {
            case v, type, step, message, values, name, id, correlationID, cause, retry, outcome, exitCode
            case command = "do", reason, nearest
        }

        func encode(to encoder: any Encoder) throws {
            var fields = encoder.container(keyedBy: Key.self)
            try fields.encodeIfPresent(self.version, forKey: .v)
            switch self.line {
            case .screen(let screen):
                try fields.encode("screen", forKey: .type)
                try screen.encode(to: encoder)
            case .step(let step):
                try fields.encode("step", forKey: .type)
                try fields.encode(step, forKey: .step)
            case .event(let name, let values):
                try fields.encode("event", forKey: .type)
                try fields.encode(name, forKey: .name)
                if !values.isEmpty { try fields.encode(values, forKey: .values) }
            case .error(let id, let correlationID, let cause, let retry, let message):
                try fields.encode("error", forKey: .type)
                try fields.encode(id, forKey: .id)
                try fields.encodeIfPresent(correlationID, forKey: .correlationID)
                try fields.encodeIfPresent(cause, forKey: .cause)
                try fields.encode(retry, forKey: .retry)
                try fields.encodeIfPresent(message, forKey: .message)
            case .done(let command, let id, let status, let step):
                try fields.encode("done", forKey: .type)
                try fields.encode(command, forKey: .command)
                try fields.encodeIfPresent(id, forKey: .id)
                try fields.encode(status.outcome, forKey: .outcome)
                try fields.encodeIfPresent(step, forKey: .step)
            case .refused(let command, let id, let reason, let message, let nearest):
                try fields.encode("refused", forKey: .type)
                try fields.encodeIfPresent(command, forKey: .command)
                try fields.encodeIfPresent(id, forKey: .id)
                try fields.encode(reason, forKey: .reason)
                try fields.encode(message, forKey: .message)
                try fields.encodeIfPresent(nearest, forKey: .nearest)
            case .result(let status):
                try fields.encode("result", forKey: .type)
                try fields.encode(status.outcome, forKey: .outcome)
                try fields.encode(status.rawValue, forKey: .exitCode)
            }
        }
    }
}
