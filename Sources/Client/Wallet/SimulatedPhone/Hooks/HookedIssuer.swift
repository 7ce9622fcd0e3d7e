internal import DeviceInterface
package import Vocabulary

/// An issuer implemented by a program.
///
/// If the program fails, the user cannot be identified.
package struct HookedIssuer: PIDIssuer {
    private let program: HookProgram
    private let device: SimulatedDevice
    private let report: @Sendable (String) -> Void

    /// Returns nil if there is no issuer hook.
    package init?(for device: SimulatedDevice, _ hooks: DeviceHooks) {
        guard let command = hooks.issuer else { return nil }
        self.program = HookProgram(kind: .issuer, command: command)
        self.device = device
        self.report = hooks.report
    }

    private struct Question: Encodable {
        let hook = "issuer"
        let platform: String
    }

    private struct Reply: Decodable {
        let result: String
        let recoveryCode: String?

        private enum CodingKeys: String, CodingKey {
            case result
            case recoveryCode = "recovery_code"
        }
    }

    package func obtain() async -> RecoveryCode? {
        do throws(HookFailure) {
            let question = Question(platform: self.device.platform.rawValue)
            let reply = try await self.program.ask(question, for: Reply.self)
            switch reply.result {
            case "obtained":
                do throws(SecretTextProblem) {
                    return try RecoveryCode(reading: (reply.recoveryCode ?? "").utf8)
                } catch {
                    throw .wrong("`recovery_code` \(error)")
                }
            case "cancelled", "failed": return nil
            default: throw .wrong("`result` must be one of obtained, cancelled, failed")
            }
        } catch {
            self.report("issuer hook: \(error)")
            return nil
        }
    }
}
