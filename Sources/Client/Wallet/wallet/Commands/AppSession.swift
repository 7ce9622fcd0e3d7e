import ArgumentParser
internal import Phone
internal import WalletCore
internal import WalletFlows

/// One app of the app process, from launch to the last screen: what a one-shot command is.
struct AppSession {
    let phone: Phone
    let printer: Printer

    /// Runs a command from launch to end, prints how it ended, and ends the process with its exit code.
    static func run(
        _ options: WalletOptions,
        _ output: WalletOutputOptions,
        _ body: (AppSession) async throws(WalletCommandFailure) -> WalletExitStatus
    ) async throws {
        let printer = Printer(isJSON: output.json, showsSteps: output.trace)
        let status: WalletExitStatus
        do throws(WalletCommandFailure) {
            let phone = try options.phone(Phone.Behavior(skipsSplash: true), observer: printer.hear)
            status = try await body(AppSession(phone: phone, printer: printer))
            await phone.endProcess()
        } catch {
            printer.fail(error)
            throw error.status.exitCode
        }
        printer.finish(status)
        if status != .done { throw status.exitCode }
    }

    func launch() async throws(WalletCommandFailure) -> Screen {
        do throws(PhoneError) {
            return try await self.phone.launch()
        } catch {
            throw WalletCommandFailure(error)
        }
    }

    /// Selects an action; that the screen does not offer it is a failure of this program.
    func perform(_ action: ActionID) async throws(WalletCommandFailure) -> Screen {
        do throws(PhoneError) {
            return try await self.phone.tap(action)
        } catch {
            throw WalletCommandFailure(error)
        }
    }

    /// Enters a PIN; that the screen asks for none is a failure of this program.
    func enter(_ input: PINInput) async throws(WalletCommandFailure) -> Screen {
        do throws(PhoneError) {
            return try await self.phone.enter(input)
        } catch {
            throw WalletCommandFailure(error)
        }
    }

    /// Goes to what the command is named for.
    func open(_ destination: AppDestination) async throws(WalletCommandFailure) -> Screen {
        do throws(PhoneError) {
            return try await self.phone.goTo(destination)
        } catch {
            throw WalletCommandFailure(error)
        }
    }

    /// How the run ended: by what stands in the way, or done if `goal` is reached.
    func status(reached goal: Bool) async -> WalletExitStatus {
        let status = WalletExitStatus(await self.phone.obstacle)
        return status == .done && !goal ? .cancelled : status
    }

    /// Six digits, or a usage error: a malformed PIN is no attempt.
    static func sixDigits(_ input: PINInput) throws(WalletCommandFailure) -> PINInput {
        switch input {
        case .complete: return input
        case .malformed: throw .usage("a PIN has exactly six digits")
        }
    }
}
