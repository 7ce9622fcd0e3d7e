internal import DeviceInterface
internal import Vocabulary

/// A program that answers instead of a system prompt.
///
/// The program is not run if the result only depends on the phone's state, for example because the screen is locked or
/// nothing is enrolled. If the program fails, the prompt counts as dismissed. The user can try again, so a broken hook
/// neither unlocks anything nor forces a reset.
struct BiometricHook: PromptResponder {
    let program: HookProgram
    let device: SimulatedDevice
    let report: @Sendable (String) -> Void

    private struct Question: Encodable {
        let hook = "biometric"
        let purpose: String
        let accepts: String
        let biometrics: String
        let platform: String
        let presentation: String
    }

    private struct Reply: Decodable {
        let result: String
    }

    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        let profile = self.device.profile
        if let result = PromptRules(profile: profile, mismatches: 0).resultWithoutAsking(prompt) { return result }
        let question = Question(
            purpose: prompt.purpose.rawValue,
            accepts: prompt.accepts.rawValue,
            biometrics: profile.usableBiometrics.rawValue,
            platform: profile.platform.rawValue,
            presentation: presentation.rawValue
        )
        do throws(HookFailure) {
            let word = try await self.program.ask(question, for: Reply.self).result
            guard let result = PromptResult(rawValue: word) else {
                let names = PromptResult.allCases.map(\.rawValue).joined(separator: ", ")
                throw .wrong("`result` must be one of \(names)")
            }
            return result
        } catch {
            self.report("biometric hook: \(error)")
            return .cancelled
        }
    }
}
