import ArgumentParser
internal import SimulatedPhone
internal import WalletFlows

struct ChangePINCommand: OneShotCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-pin",
        abstract: "Replace the PIN.",
        discussion: """
            With --pin-fd or --pin-file the first line is the old PIN, the second the new PIN, and an optional third \
            line repeats the new PIN. Exactly one of the two PINs is valid afterwards, even after an interruption.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    func run() async throws {
        try await AppSession.run(self) { app in
            let pins = try self.pins.source()
            guard let old = try await ProtectedAction.open(app, pins, { try await $0.goTo(.changePIN) }) else {
                return await app.status(reached: false)
            }
            guard old.step == "PF2.9/1.1" else { return await app.status(reached: false) }
            let new = try pins.next("New PIN of 6 digits: ")
            var screen = try await app.phone.perform(.enter(new))
            if screen.step == "PF2.9/1.3" {
                let repeated = try pins.again("The same PIN again: ")
                screen = try await app.phone.perform(.enter(repeated))
            }
            return await app.status(reached: screen.step == "UC2.6/1.3")
        }
    }
}

struct ShowDeletionCodeCommand: OneShotCommand {
    static let configuration = CommandConfiguration(
        commandName: "show-deletion-code",
        abstract: "Show the deletion code again."
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    func run() async throws {
        try await AppSession.run(self) { app in
            let pins = try self.pins.source()
            let screen = try await ProtectedAction.open(app, pins, { try await $0.goTo(.deletionCode) })
            return await app.status(reached: screen?.step == "UC9.12/1.2")
        }
    }
}

/// Actions that ask for the PIN up to twice: to unlock the wallet, unless a biometric does, and to confirm (PF2.4).
enum ProtectedAction {
    /// Unlocks the wallet, calls `open`, and confirms with the same PIN if the app then asks for it; returns nil if the
    /// wallet could not be unlocked.
    static func open(
        _ app: AppSession,
        _ pins: PINSource,
        _ open: (Phone) async throws -> Screen
    ) async throws -> Screen? {
        guard let unlocked = try await Unlocking.launchAndEnter(app, pins), await !app.phone.isLocked
        else { return nil }
        // In safe mode, changing the PIN requires a prompt first, which may be rejected.
        let opened = try await open(app.phone)
        guard opened.step == "PF2.4/1.1" else { return opened }
        let again = try unlocked.pin?.enteredAgain() ?? AppSession.sixDigits(try pins.next("PIN: "))
        return try await app.phone.perform(.enter(again))
    }
}
