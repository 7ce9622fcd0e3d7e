import ArgumentParser
internal import Devices
internal import Lab
internal import HostSystem
internal import Vocabulary
internal import WalletCore
internal import WalletFlows

/// One life of the app process: home, device, server and wallet, from launch to the last screen.
struct AppLife {
    let wallet: Wallet
    let device: SimulatedDevice
    let printer: Printer
    let serverAddress: String
    private let home: WalletHome

    /// Runs a command from launch to end, prints how it ended, and ends the process with its exit code.
    static func run(
        _ options: WalletOptions,
        _ body: (AppLife) async throws(CommandFailure) -> ExitStatus
    ) async throws {
        StandardStreams.ignoreBrokenPipes()
        let printer = Printer(isJSON: options.json, showsSteps: options.trace)
        let status: ExitStatus
        do throws(CommandFailure) {
            let life = try AppLife(options, printer)
            status = try await body(life)
            await life.wallet.close()
        } catch {
            printer.fail(error)
            throw error.status.exitCode
        }
        printer.finish(status)
        if status != .done { throw status.exitCode }
    }

    private init(_ options: WalletOptions, _ printer: Printer) throws(CommandFailure) {
        let home = try WalletHome(options.home)
        let settings = try WalletSettings(home: home, lab: options.lab)
        let clock = try Self.clock(settings)
        self.home = home
        self.printer = printer
        self.device = try Self.device(options.device, home, settings, clock)
        let dialer: TLSDialer
        do throws(TLSDialer.NotUsable) {
            dialer = try TLSDialer(settings.server)
        } catch {
            throw .usage("\(error)")
        }
        self.serverAddress = dialer.address
        var walletSettings = Wallet.Settings()
        walletSettings.wording = settings.wording
        walletSettings.skipsSplash = true
        do {
            self.wallet = try Wallet(
                disk: try FolderDisk(folder: home.appFolder),
                device: self.device,
                dialer: dialer,
                clock: clock,
                settings: walletSettings,
                observer: printer.hear
            )
        } catch {
            throw .failed("\(error)")
        }
    }

    /// Selects an action; that the screen does not offer it is a failure of this program.
    func perform(_ action: ActionID) async throws(CommandFailure) -> Screen {
        do throws(WalletError) {
            return try await self.wallet.perform(action)
        } catch {
            throw .failed("\(error)")
        }
    }

    /// Enters a PIN; that the screen asks for none is a failure of this program.
    func enter(_ input: PINInput) async throws(CommandFailure) -> Screen {
        do throws(WalletError) {
            return try await self.wallet.enter(input)
        } catch {
            throw .failed("\(error)")
        }
    }

    /// Goes to what the command is named for.
    func open(_ destination: AppStateMachine.Destination) async throws(CommandFailure) -> Screen {
        do throws(WalletError) {
            return try await self.wallet.open(destination)
        } catch {
            throw .failed("\(error)")
        }
    }

    /// How the run ended: by what stands in the way, or done if `goal` is reached.
    func status(reached goal: Bool) async -> ExitStatus {
        let status = ExitStatus(await self.wallet.obstacle)
        return status == .done && !goal ? .cancelled : status
    }

    /// Six digits, or a usage error: a malformed PIN is no attempt.
    static func sixDigits(_ input: PINInput) throws(CommandFailure) -> PINInput {
        switch input {
        case .complete: return input
        case .malformed: throw .usage("a PIN has exactly six digits")
        }
    }

    private static func clock(_ settings: WalletSettings) throws(CommandFailure) -> any WallClock {
        guard let file = settings.clockFile else { return SystemClock() }
        do throws(LabError) {
            return try FollowedLabClock(file: file)
        } catch {
            throw .failed("the lab's clock cannot be read: \(error)")
        }
    }

    private static func device(
        _ options: DeviceOptions,
        _ home: WalletHome,
        _ settings: WalletSettings,
        _ clock: any WallClock
    ) throws(CommandFailure) -> SimulatedDevice {
        do throws(DeviceError) {
            var profile = DeviceProfile(options.platform?.platform ?? .android)
            options.apply(to: &profile)
            let device = try SimulatedDevice(
                folder: home.deviceFolder,
                authorityFolder: settings.authorityFolder ?? home.deviceFolder,
                clock: clock,
                new: profile
            )
            if let platform = options.platform?.platform, platform != device.platform {
                throw DeviceError.storage("this phone is \(device.platform.rawValue), and stays so")
            }
            if !options.isEmpty { try device.update(options.apply) }
            return device
        } catch {
            throw .usage("\(error)")
        }
    }
}
