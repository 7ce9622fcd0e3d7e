import ArgumentParser
internal import Phone
internal import WalletCore
internal import WalletFlows

/// A command that runs the app until a last screen, and prints it.
protocol OneShotCommand: PhoneCommand {
    var output: WalletOutputOptions { get }
}

/// A single process of the app, from launch until a one-shot command reaches its last screen.
struct AppSession {
    let phone: Phone
    let printer: Printer

    /// Runs a command, prints its outcome, and exits with the corresponding exit code.
    static func run(
        _ command: some OneShotCommand,
        _ body: (AppSession) async throws -> WalletExitStatus
    ) async throws {
        let printer = Printer(isJSON: command.output.json, showsSteps: command.output.trace)
        let status: WalletExitStatus
        do {
            let phone = try await command.phone(Phone.Behavior(skipsSplash: true), observer: printer.print).phone
            status = try await body(AppSession(phone: phone, printer: printer))
            await phone.endProcess()
        } catch {
            let failure = WalletCommandFailure(error)
            printer.fail(failure)
            throw failure.status.exitCode
        }
        printer.finish(status)
        if status != .done { throw status.exitCode }
    }

    /// Returns the command's outcome: the obstacle on the last screen, or done if the goal was reached.
    func status(reached goal: Bool) async -> WalletExitStatus {
        let status = WalletExitStatus(await self.phone.obstacle)
        return status == .done && !goal ? .cancelled : status
    }

    /// Returns the PIN if it has six digits.
    ///
    /// Otherwise throws a usage error, since a malformed PIN does not count as an attempt.
    static func sixDigits(_ input: PINInput) throws -> PINInput {
        switch input {
        case .complete: return input
        case .malformed: throw WalletCommandFailure.usage("a PIN has exactly six digits")
        }
    }
}
