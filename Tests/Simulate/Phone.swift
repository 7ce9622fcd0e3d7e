internal import WalletFlows
internal import SimulatedPhone
@testable import Transport
internal import Vocabulary
@testable import WalletCore
internal import Wire

/// A phone, and its owner, who uses the app as the plan says.
///
/// The owner knows the PIN. After a change without an answer, either of two PINs may be the right one.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class Phone: @unchecked Sendable {
    let number: Int
    private let run: Simulation
    let disk: PhoneDisk
    let clock: SimulatedClock
    private let device: SimulatedDevice
    private(set) var process: SimulatedProcess?
    /// The id of the wallet when it was last unlocked.
    private var walletID: WalletID?
    private var generator: SeededGenerator
    private(set) var unlocks = 0
    private(set) var isDone = false
    /// The visits that are still to come.
    private var visits: [Plan.Visit] = []

    /// The PIN that was last known to be right; nil before the setup.
    private var pin: String?
    /// A PIN that a change without an answer may have made the right one, and the time from which that is settled.
    private var other: (pin: String, settled: Int64)?
    /// The obstacle of the screen shown last.
    private var obstacle: Obstacle?
    /// The last time at which the wallet was set up or its PIN was changed.
    private var lastChange: Int64 = 0
    /// The server has forgotten the wallet's setup or its last change of the PIN.
    private var isForgotten = false
    /// The owner has asked for the revocation of the wallet.
    private var hasRevoked = false
    /// The app shows that the wallet is revoked.
    private var isRevoked: Bool { self.obstacle == .revoked }
    /// Whether the operator may have denied the owner's recovery code, so that the device gets no new wallet.
    private var isDenied = false

    private var name: String { "phone \(self.number + 1)" }

    init(_ number: Int, _ run: Simulation, authority: String) throws {
        self.number = number
        self.run = run
        let stream = "phone \(number)"
        self.generator = SeededGenerator(seed: run.plan.seed, stream)
        self.disk = PhoneDisk(SeededGenerator(seed: run.plan.seed, stream + " disk"))
        self.clock = SimulatedClock(run.scheduler)
        self.device = try SimulatedDevice(
            folder: "\(run.folder)/phone-\(number)",
            authorityFolder: authority,
            clock: self.clock,
            new: DeviceProfile(number % 2 == 0 ? .android : .iOS)
        )
        let name = self.name
        self.disk.onWrite = { run.observer.note(name, $0) }
    }

    // MARK: Visits

    func begin(_ visits: [Plan.Visit]) {
        self.visits = visits
        self.planNext()
    }

    /// Waits for the next visit.
    private func planNext() {
        let scheduler = self.run.scheduler
        guard !self.visits.isEmpty else { return self.planEnd() }
        let visit = self.visits.removeFirst()
        scheduler.schedule(after: max(0, visit.time - scheduler.now), in: self.run.world) { self.visit(visit) }
    }

    private func visit(_ visit: Plan.Visit) {
        self.startApp { await self.use(visit) }
        if let (way, delay) = visit.revocation {
            let (run, isAtRequest) = (self.run, self.generator.chance(60))
            run.scheduler.schedule(after: delay, in: run.world) {
                guard isAtRequest else { return self.revoke(way) }
                run.network.atNextRequest { _ in
                    run.scheduler.schedule(after: delay % 60_000, in: run.world) { self.revoke(way) }
                }
            }
        }
        self.watch(for: 600_000_000) { self.planNext() }
    }

    /// Starts the app in a new process and ends the previous one.
    private func startApp(_ body: @escaping @Sendable () async -> Void) {
        self.process?.kill()
        let process = SimulatedProcess(self.name, self.run.scheduler)
        self.process = process
        self.run.observer.note(self.name, "starts the app")
        self.run.scheduler.enter(process) {
            Task {
                await body()
                self.visitEnded?()
            }
        }
    }

    private var visitEnded: (() -> Void)?

    /// Goes on when the visit has ended, or after a time: the app may have been killed, or it may wait for a block.
    private func watch(for time: Int64, _ next: @escaping () -> Void) {
        var isOver = false
        let end = {
            guard !isOver else { return }
            isOver = true
            self.visitEnded = nil
            next()
        }
        self.visitEnded = { self.run.scheduler.schedule(after: 0, in: self.run.world, end) }
        self.run.scheduler.schedule(after: time, in: self.run.world, end)
    }

    func killApp(after jobs: Int) {
        guard let process = self.process else { return }
        process.plan(after: jobs) {
            self.run.observer.note(self.name, "the app is killed")
            process.kill()
        }
    }

    // MARK: Use

    /// Opens the app, or returns nil if its disk fails: the app then starts at the next visit.
    private func openUnlessDiskFails() throws -> Wallet? {
        let failures = self.disk.failures
        do {
            return try self.open()
        } catch {
            guard self.disk.failures < failures else { throw error }
            return nil
        }
    }

    private func open() throws -> Wallet {
        guard let process = self.process else { preconditionFailure("the app runs in a process") }
        var settings = Wallet.Settings()
        settings.skipsSplash = true
        settings.issuer = SimulatedIssuer(for: self.device)
        let (name, run) = (self.name, self.run)
        let wallet = try Wallet(
            disk: self.disk,
            device: self.device,
            connectingBy: SimulatedDialer(network: self.run.network, process: process),
            clock: self.clock,
            settings: settings
        ) { event in
            switch event {
            case .step(let step): run.observer.note(name, "step \(step)")
            case .event(.tampering(let finding)): run.observer.report("\(name) shows tampering: \(finding.rawValue)")
            case .locked(let isLocked): run.observer.note(name, isLocked ? "locked" : "unlocked")
            case .screen(let screen, let obstacle): self.shown(screen, obstacle)
            case .event: break
            }
        }
        return wallet
    }

    /// Notes the obstacle of a screen.
    ///
    /// A revocation of the solution is temporary and does not change the wallet.
    private func shown(_ screen: Screen, _ obstacle: Obstacle?) {
        if case .text(let hint) = screen.values["attemptHint"] {
            self.run.observer.report("\(self.name) suspects tampering: \(hint)")
        }
        guard obstacle == .revoked, screen.step.hasPrefix("UC1.2/7") else { return self.obstacle = obstacle }
        self.obstacle = nil
        if !self.run.observer.mayHaveRevokedSolution {
            self.run.observer.report("\(self.name): the app shows a revocation of the solution without a request")
        }
    }

    /// Lets the operator deny the owner's recovery code.
    func revokeRecoveryCode() {
        guard let server = self.run.anyServer, let code = try? self.device.recoveryCode() else { return }
        (self.isDenied, self.hasRevoked) = (true, true)
        server.revoke(code)
    }

    /// A thief attacks the wallet, with a copy of the phone's hardware key or without.
    func attack(hasPhone: Bool) {
        guard let wallet = self.walletID else { return }
        Thief(run: self.run, wallet: wallet, device: hasPhone ? self.device : nil).attack()
    }

    /// The server's store has the contents of an earlier time.
    func serverRestored(from time: Int64) {
        // A restored store also has the replaced shares, which open nothing any more.
        let confirmed = self.walletID.flatMap { self.run.observer.confirmation(of: $0) }
        // A setup or change that began before the backup may have reached the server after it.
        let least = time - (self.run.plan.isShared ? 60_000_000 : 300_000_000)
        guard self.pin != nil, max(self.lastChange, confirmed ?? 0) >= least else { return }
        self.process?.kill()
        self.isForgotten = true
    }

    /// Installs the app anew after a revocation, or after a restore.
    private func reinstall() async throws {
        self.run.observer.note(self.name, "the app is installed anew")
        self.disk.erase()
        try await self.device.deleteKey()
        (self.pin, self.other, self.obstacle) = (nil, nil, nil)
        (self.hasRevoked, self.isForgotten) = (self.isDenied, false)
        self.walletID = nil
    }

    private func use(_ visit: Plan.Visit) async {
        do {
            if self.isRevoked, self.isDenied { return }
            if self.isRevoked || self.isForgotten { try await self.reinstall() }
            guard let wallet = try self.openUnlessDiskFails() else { return }
            guard try await self.unlock(wallet, wrongPINs: visit.wrongPINs, keepsBlocked: visit.keepsBlockedWallet)
            else {
                return
            }
            if visit.changesPIN { try await self.changePIN(wallet) }
            if visit.linksRecoveryCode { try await self.linkRecoveryCode(wallet) }
            if visit.wipes { try await self.wipe(wallet) }
            if !visit.staysOpen { await wallet.close() }
        } catch {
            self.run.observer.report("\(self.name): \(error)")
        }
    }

    /// Opens the app and unlocks it; sets it up first if there is no wallet.
    ///
    /// Returns false if that is not possible now.
    private func unlock(_ wallet: Wallet, wrongPINs: Int, keepsBlocked: Bool = false) async throws -> Bool {
        var wrong = wrongPINs
        var screen = await wallet.launch()
        for _ in 0..<40 {
            if self.isRevoked {
                if !self.hasRevoked {
                    self.run.observer.report("\(self.name): the app shows a revocation without a request")
                }
                return false
            }
            if await !wallet.isLocked, self.pin != nil, !screen.step.hasPrefix("PF2.9"), !screen.step.hasPrefix("UC2.1")
            {
                return true
            }
            if screen.inputs.contains(where: { $0.id == "pin" }) {
                screen = try await self.enterPIN(wallet, screen, &wrong)
            } else if screen.step == "PF2.8/5.1" {
                // The wallet is blocked; the owner tries again later in this visit.
                await self.run.scheduler.wait(Int64.random(in: 20...90, using: &self.generator) * 1_000_000)
                screen = await wallet.launch()
            } else if let action = keepsBlocked && screen.step == "PF2.8/9.1" ? nil : self.action(on: screen) {
                screen = try await wallet.perform(action)
            } else {
                return false
            }
            await self.run.scheduler.wait(.random(in: 300_000...3_000_000, using: &self.generator))
        }
        return false
    }

    /// Enters a PIN on a screen that asks for one, and checks what the screen then says.
    private func enterPIN(_ wallet: Wallet, _ screen: Screen, _ wrong: inout Int) async throws -> Screen {
        if screen.step.hasPrefix("PF2.9") {
            if screen.step == "PF2.9/1.1" {
                self.pin = self.newPIN()
                self.other = nil
            }
            self.lastChange = self.run.scheduler.now
            return try await wallet.enter(PINInput(typed: (self.pin ?? "").utf8))
        }
        if wrong > 0 {
            wrong -= 1
            return try await self.enter(self.newPIN(), isRight: false, wallet)
        }
        guard let pin = self.pin else { return screen }
        guard let other = self.other else { return try await self.enter(pin, isRight: true, wallet) }
        // Either PIN may be right.
        let isFirst = self.generator.chance(50)
        let next = try await self.enter(isFirst ? pin : other.pin, isRight: nil, wallet)
        if await !wallet.isLocked { self.note(isFirst ? pin : other.pin) }
        return next
    }

    /// The wallet was unlocked with one of two possible PINs.
    private func note(_ right: String) {
        guard let other = self.other else { return }
        if right == other.pin {
            (self.pin, self.other) = (right, nil)
        } else if self.run.scheduler.now > other.settled {
            self.other = nil
        }
    }

    private func enter(_ pin: String, isRight: Bool?, _ wallet: Wallet) async throws -> Screen {
        let wasLocked = await wallet.isLocked
        self.obstacle = nil
        let screen = try await wallet.enter(PINInput(typed: pin.utf8))
        let isLocked = await wallet.isLocked
        if wasLocked, !isLocked {
            self.unlocks += 1
            self.walletID = await wallet.walletID
        }
        if isRight == false, wasLocked, !isLocked {
            self.run.observer.report("\(self.name): a wrong PIN unlocks the wallet", isGain: true)
        }
        if isRight == true, self.obstacle == .wrongPIN {
            self.run.observer.report("\(self.name): the right PIN is called wrong")
        }
        return screen
    }

    private func changePIN(_ wallet: Wallet) async throws {
        guard let old = self.pin, self.other == nil else { return }
        var screen = try await wallet.open(.changePIN)
        guard screen.inputs.contains(where: { $0.id == "pin" }) else { return }
        screen = try await self.enter(old, isRight: true, wallet)
        guard screen.step == "PF2.9/1.1" else { return }
        let new = self.newPIN()
        screen = try await wallet.enter(PINInput(typed: new.utf8))
        guard screen.step == "PF2.9/1.3" else { return }
        // From here on the change may take effect, even if the app does not live to see it. A message on a lost
        // connection may arrive later.
        self.other = (new, self.run.scheduler.now + 600_000_000)
        self.lastChange = .max
        defer { self.lastChange = self.run.scheduler.now }
        screen = try await wallet.enter(PINInput(typed: new.utf8))
        if screen.step == "UC2.6/1.3" {
            self.run.observer.note(self.name, "has changed its PIN")
            (self.pin, self.other) = (new, nil)
        }
    }

    /// Obtains the recovery code and links it, if the app offers this.
    private func linkRecoveryCode(_ wallet: Wallet) async throws {
        var screen = await wallet.refresh()
        guard self.other == nil, let pin = self.pin, screen.step == "UC3.1/1.1" else { return }
        screen = try await wallet.perform(.obtain)
        guard screen.inputs.contains(where: { $0.id == "pin" }) else { return }
        _ = try await self.enter(pin, isRight: true, wallet)
    }

    /// Wipes the app, which removes the wallet.
    private func wipe(_ wallet: Wallet) async throws {
        guard self.other == nil, !self.isRevoked else { return }
        let screen = try await wallet.open(.wipe)
        guard screen.actions.contains(where: { $0.id == .yesDelete }) else { return }
        self.run.observer.note(self.name, "the owner wipes the app")
        // The report may reach the server, and the app may be killed before it stores that.
        self.hasRevoked = true
        _ = try await wallet.perform(.yesDelete)
    }

    /// Returns whether the app had this wallet when it was last open.
    func has(_ wallet: WalletID?) -> Bool { self.walletID != nil && self.walletID == wallet }

    /// Revokes the wallet that the app had when it was last open.
    ///
    /// - Parameter server: The server that gets a request of the portal or of an operator; nil for any server.
    func revoke(_ way: Plan.Revocation, through server: (any ServerMachine)? = nil) {
        guard let id = self.walletID, let code = self.run.observer.deletionCode(of: id) else { return }
        self.run.observer.note(self.name, "the owner wants the wallet revoked: \(way)")
        self.hasRevoked = true
        switch way {
        case .code: self.run.sendCode(code)
        case .portal, .operatorCommand: (server ?? self.run.anyServer)?.revoke(id, code, way)
        }
    }

    private func newPIN() -> String {
        while true {
            let digits = (0..<6).map { _ in Character("\(Int.random(in: 0...9, using: &self.generator))") }
            let pin = String(digits)
            if Set(digits).count > 3, pin != self.pin, pin != self.other?.pin { return pin }
        }
    }

    // MARK: End

    /// After the last visit: faults end, and the wallet must work.
    private func planEnd() {
        let scheduler = self.run.scheduler
        let end = self.run.plan.end + self.run.plan.endSpacing * Int64(1 + self.number)
        scheduler.schedule(after: max(0, end - scheduler.now), in: self.run.world) {
            self.run.heal()
            self.tryToUnlock(4)
        }
    }

    /// Unlocks the healed wallet, or reports that it does not work.
    private func tryToUnlock(_ tries: Int) {
        guard tries > 0 else { return self.run.observer.report("\(self.name): the wallet no longer unlocks") }
        let isUnlocked = Box(false)
        self.startApp {
            do {
                if self.isForgotten { try await self.reinstall() }
                let wallet = try self.open()
                isUnlocked.value = try await self.unlock(wallet, wrongPINs: 0)
                await wallet.close()
            } catch {
                self.run.observer.report("\(self.name): \(error)")
            }
        }
        self.watch(for: 900_000_000) {
            if isUnlocked.value || self.isRevoked { return self.isDone = true }
            // A server may still be starting, and no session is opened until an epoch is open and the solution is
            // restored.
            let observer = self.run.observer
            let counts = !observer.isLossy && observer.isSolutionRestored
            self.run.scheduler.schedule(after: 60_000_000, in: self.run.world) {
                self.tryToUnlock(counts ? tries - 1 : tries)
            }
        }
    }
}
