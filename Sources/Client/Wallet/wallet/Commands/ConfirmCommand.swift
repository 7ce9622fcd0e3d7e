import ArgumentParser
internal import HostSystem
internal import SimulatedPhone
internal import WalletFlows

struct ConfirmCommand: OneShotCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Confirm an action of a host application.",
        discussion: """
            Unlocks the wallet and asks for the PIN again. With `confirm_with_prompt: true` in wallet.yaml, a wallet \
            in the safe biometric mode shows the prompt of the phone instead, which --sensor or --biometric-hook \
            answers.

            Prints the outcome, confirmed or declined, and exits with 0 only if the action was confirmed. The texts \
            are only shown; nothing is signed.

            EXAMPLE

              wallet confirm --title 'Pay 25.00 EUR' --details 'To Example Shop' \\
                --lab lab --home phone --pin-file pin
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    @Option(
        help: ArgumentHelp(
            "The action, with at most \(ConfirmationRequest.longestTitle) characters.",
            valueName: "text"
        )
    )
    var title: String

    @Option(
        help: ArgumentHelp(
            "The details of the action, with at most \(ConfirmationRequest.longestDetails) characters.",
            valueName: "text"
        )
    )
    var details = ""

    func run() async throws {
        try await AppSession.run(self) { app in
            let confirmation = try mapError(ConfirmationRequest(title: self.title, details: self.details)) {
                (error: ConfirmationError) in WalletCommandFailure.usage("\(error)")
            }
            let pins = try self.pins.source()
            let screen = try await ProtectedAction.open(app, pins) { try await $0.perform(.confirm(confirmation)) }
            if screen?.step == "PF2.4/1.5" { try await app.phone.perform(.tap(.confirm)) }
            return await app.status(reached: app.printer.hasConfirmed)
        }
    }
}
