import HostSystem
import PlayedCounterexamples
import TestSupport
import Testing

/// The scenario files that the explorer writes for counterexamples, played against the correct code.
@Suite("Counterexamples of the explorer as scenarios")
struct CounterexampleTests {
    private let folder = TemporaryFolder()

    /// Each trace violates an invariant with the mutant of that name.
    ///
    /// The last trace has every kind of step.
    @Test(
        "a counterexample that a phone can play passes against the correct server, with each kind of step",
        arguments: [
            ("store-count-not-kept", 0, [.enter(isRight: false, lost: 0), .enter(isRight: false, lost: 0)]),
            (
                "policy-last-wrong-pin-blocks-nothing", 0,
                [PlayedStep](repeating: .enter(isRight: false, lost: 0), count: 3)
            ),
            ("policy-block-not-checked", 1, [.enter(isRight: false, lost: 0), .enter(isRight: true, lost: 0)]),
            ("policy-repeated-attempt-counted", 0, [.enter(isRight: false, lost: 1)]),
            ("policy-right-pin-stays-counted", 0, [.enter(isRight: true, lost: 0), .enter(isRight: true, lost: 0)]),
            ("store-revocation-not-kept", 0, [.revokeWithCode, .enter(isRight: true, lost: 0)]),
            (
                "all-steps", 1,
                [
                    .enter(isRight: false, lost: 2), .restart, .minute, .newSession, .enter(isRight: true, lost: 1),
                    .revokeWallet, .enter(isRight: true, lost: 0), .revokeWithCode,
                ]
            ),
        ] as [(String, Int, [PlayedStep])]
    )
    func played(mutant: String, block: Int, steps: [PlayedStep]) async throws {
        let policy = CounterexampleScenario.Policy(rounds: 2, attempts: 1, block: block)
        let text = CounterexampleScenario.text(of: steps, under: policy, violated: mutant)
        let path = "\(self.folder.path)/\(mutant).yaml"
        try DurableFile.write(Array(text.utf8), to: path)
        let run = try await ServerProcess.run("wallet", ["run", path])
        #expect(run.exitCode == 0, "\(text)\n\(run.output)")
    }
}
