internal import ConfigText
internal import Foundation
internal import HostSystem
internal import SimulatedPhone
internal import Vocabulary
internal import WalletCore
internal import WalletFlows
internal import Wire

extension ScenarioRun {
    func take(_ action: Step.Action) async throws(StepProblem) {
        switch action {
        case .launch, .resume, .background, .killApp, .tap, .enter, .present, .link, .hostSession, .confirm:
            try await self.useApp(action)
        case .refused(let action): try await self.refuse(action)
        case .setUp(let setUp): try await self.setUp(setUp)
        case .unlock(let pin): try await self.unlock(pin)
        case .advance(let duration): try await self.advance(by: duration)
        case .device(let change): try self.change(change)
        case .configure(let configuration): await self.current.configure(configuration)
        case .setClock(let change): self.current.clock.set(by: change)
        case .enroll, .wipeKeychain, .removeScreenLock, .enterPasscode: try self.useDevice(action)
        case .storage(let isFull): self.current.storage.isFull = isFull
        case .restore(let change): try await self.current.restore(change)
        case .phone(let name, let device): try self.switchPhone(to: name, device)
        case .clone(let name): try self.clone(as: name)
        case .backUp(let name): try self.backUp(as: name)
        case .restoreBackup(let name): try await self.restoreBackup(name)
        case .stopServer: try await self.world.requireLab().stop()
        case .killServer: try await self.world.requireLab().kill()
        case .startServer(let settings): try await self.world.requireLab().start(changing: settings)
        case .startSecondServer: try await self.world.requireLab().startSecond()
        case .freezeServer: try self.world.requireLab().freeze()
        case .thawServer: try await self.world.requireLab().thaw()
        case .exchangeCertificate(let certificate): try await self.world.requireLab().exchange(certificate)
        case .keep(let names): try await self.keep(names)
        case .operate(let step): try await self.operate(step)
        case .revokeWithCode(let code): try await self.revoke(with: code)
        case .expectScreen(let expectation): try await self.expect(screen: expectation)
        case .expectOneOf(let expectations): try await self.expect(oneOf: expectations)
        case .expectScreenOf(let file): try await self.expect(screenOf: file)
        case .expectAll(let expectations): try await self.expect(all: expectations)
        case .expectTrace(let expectation): try self.expect(expectation)
        case .expectServer(let expectation): try await self.expect(server: expectation)
        case .expectEvent(let expectation): try self.expect(event: expectation)
        }
    }

    /// Executes a user or operating system action on the app.
    private func useApp(_ action: Step.Action) async throws(StepProblem) {
        let phone = self.current.phone
        switch action {
        case .launch(let link):
            let link = try link.map { (link) throws(StepProblem) in try self.incoming(link) }
            try await self.act(.launch(link))
        case .resume(let link):
            let link = try link.map { (link) throws(StepProblem) in try self.incoming(link) }
            try await self.act(.resume(link))
        case .background(let duration):
            try await self.act(.background)
            if let duration { try await self.advance(by: duration) }
        case .killApp(atWrite: .some(let number)):
            try self.current.checkCrash()
            self.current.process.crash(beforeWrite: number)
        case .killApp(atWrite: nil):
            try self.current.checkCrash()
            self.current.process.restart()
            await phone.endProcess()
        case .tap(let actions):
            for action in actions { try await self.act(.tap(action)) }
        case .enter(let pins):
            for pin in pins { try await self.enter(pin) }
        case .present(let presentations):
            for presentation in presentations { try await self.present(presentation) }
        case .link(let link):
            let link = try self.incoming(link)
            try await self.act(.open(link))
        case .hostSession(let session):
            try await self.act(.hostSession(session))
        case .confirm(let title, let details):
            let confirmation = try self.confirmation(title, details)
            try await self.act(.confirm(confirmation))
        default: return
        }
    }

    /// Executes an action on the current phone's app.
    func act(_ action: PhoneAction) async throws(StepProblem) {
        do throws(PhoneError) {
            try await self.current.phone.perform(action)
        } catch {
            guard !self.current.process.isDead else {
                await self.current.settle()
                return
            }
            self.latestRefusal = error
            let screen = await self.current.phone.screen
            let offers = screen.actions.map(\.id.rawValue).joined(separator: ", ")
            throw .failed(
                "\(error)",
                [.init(what: "actions of the screen", expected: "the step's action", seen: offers)]
            )
        }
        await self.current.settle()
    }

    /// Executes an action that the app must refuse without any side effect.
    ///
    /// Only a refusal by the app counts. An unknown `${NAME}` or a damaged file makes the scenario fail.
    private func refuse(_ action: Step.Action) async throws(StepProblem) {
        self.latestRefusal = nil
        let before = await self.current.phone.screen
        do throws(StepProblem) {
            try await self.useApp(action)
        } catch {
            switch self.latestRefusal {
            case .some(.wallet), .some(.notRunning), .some(.inBackground): break
            default: throw error
            }
            let now = await self.current.phone.screen
            guard now == before else {
                throw .failed("the app refused the step, but its screen changed from \(before.step) to \(now.step)")
            }
            return
        }
        throw .failed("the app did not refuse the step")
    }

    func enter(_ pin: String) async throws(StepProblem) {
        let pin = try self.filled(pin)
        try await self.act(.enter(PINInput(typed: Array(pin.utf8))))
    }

    func present(_ presentation: Presentation) async throws(StepProblem) {
        try await self.act(.present(presentation))
    }

    /// Advances the clock of the server and the phones, and refreshes the app if it is running.
    private func advance(by duration: Duration) async throws(StepProblem) {
        try await self.world.requireLab().advance(by: duration)
        guard await self.current.phone.isRunning else { return }
        await self.current.phone.refresh()
        await self.current.settle()
    }

    private func change(_ change: DeviceChange) throws(StepProblem) {
        do {
            var profile = self.current.phone.device.profile
            let pending = profile.conditions
            change.apply(to: &profile)
            // `none` is used to discard pending conditions, so they are not required to have happened.
            if profile.conditions != pending, !profile.conditions.isEmpty { try self.current.checkConditions() }
            let changed = profile
            try self.current.phone.device.update { $0 = changed }
        } catch let problem as StepProblem {
            throw problem
        } catch {
            throw .failed("the phone cannot be changed: \(error)")
        }
    }

    /// Executes an action by the phone's owner.
    private func useDevice(_ action: Step.Action) throws(StepProblem) {
        let device = self.current.phone.device
        do throws(DeviceError) {
            switch action {
            case .enterPasscode: try device.unlockWithPasscode()
            case .enroll(let biometric): try device.enroll(biometric)
            case .wipeKeychain: try device.wipeKeychain()
            case .removeScreenLock: try device.removeScreenLock()
            default: return
            }
        } catch {
            throw .failed("the phone cannot be changed: \(error)")
        }
    }

    private func keep(_ names: [String: String]) async throws(StepProblem) {
        let values = await self.current.phone.screen.values
        for (name, value) in names {
            guard let value = values[value] else {
                let known = values.keys.sorted().joined(separator: ", ")
                throw .failed("the screen shows no value `\(value)`; its values: \(known.isEmpty ? "none" : known)")
            }
            self.kept[name] = value.text
        }
    }

    private func confirmation(_ title: String, _ details: String) throws(StepProblem) -> ConfirmationRequest {
        let (title, details): (String, String) = (try self.filled(title), try self.filled(details))
        return try mapError(ConfirmationRequest(title: title, details: details)) { (error: ConfirmationError) in
            StepProblem.failed("\(error)")
        }
    }

    private func incoming(_ link: LinkText) throws(StepProblem) -> IncomingLink {
        IncomingLink(try self.filled(link.url), from: link.source)
    }
}

/// Shortcuts for the steps that many scenarios begin with.
///
/// Their flow steps count towards coverage, but are not part of the trace.
extension ScenarioRun {
    /// Sets up a wallet, from the introduction to the unlocked app.
    func setUp(_ setUp: SetUp) async throws(StepProblem) {
        // The longest setup has thirteen screens. The limit is for a setup that gets stuck on one of them.
        for _ in 0..<20 {
            if await !self.current.phone.isInFront { try await self.act(.resume()) }
            let screen = await self.current.phone.screen
            guard try await self.answer(setUp, from: screen) else { return self.current.recorder.clearTrace() }
        }
        throw .failed("the setup does not end")
    }

    /// Answers the current setup screen, or returns false if the setup is complete.
    private func answer(_ setUp: SetUp, from screen: Screen) async throws(StepProblem) -> Bool {
        switch screen.step {
        case "UC1.1/1.1": try await self.tap(.skip)
        case "UC1.1/1.4", "UC2.1/1.5": try await self.tap(.next)
        case "PF2.9/1.1", "PF2.9/1.3": try await self.enter(setUp.pin)
        case "UC2.1/1.3": try await self.tap(setUp.enablesBiometrics ? .enable : .skip)
        case "UC2.1/1.4": try await self.present(.match)
        case "UC2.1/1.6":
            if let name = setUp.codeName { self.kept[name] = screen.values["deletionCode"]?.text }
            try await self.tap(.writtenDown)
        case "UC3.1/1.1":
            guard setUp.obtainsPID else { return false }
            try await self.tap(.obtain)
        case "UC2.3/1.3", "PF2.4/1.1": try await self.enter(setUp.pin)
        case "UC7.1/1.1": return false
        default: throw .failed("the setup stopped at \(screen.step) \(screen.title)")
        }
        return true
    }

    /// Brings the app to the foreground if necessary and answers its prompts for the PIN and biometrics.
    func unlock(_ pin: String) async throws(StepProblem) {
        if await !self.current.phone.isInFront { try await self.act(.resume()) }
        for _ in 0..<3 {
            switch await self.current.phone.screen.step {
            case "UC2.3/1.3": try await self.enter(pin)
            case "UC2.3/1.2", "UC2.2/1.3": try await self.present(.match)
            default: break
            }
        }
        guard await !self.current.phone.isLocked else {
            let screen = await self.current.phone.screen
            throw .failed("the app was not unlocked; it shows \(screen.step) \(screen.title)")
        }
        self.current.recorder.clearTrace()
    }

    private func tap(_ action: ActionID) async throws(StepProblem) {
        try await self.act(.tap(action))
    }
}

/// Methods that copy phones and app data.
extension ScenarioRun {
    /// Creates a new phone from a copy of all the current phone's files.
    func clone(as name: String) throws(StepProblem) {
        try self.checkIsNew(name)
        try Self.copy(self.current.phone.home.path, to: "\(self.folder)/\(name)")
        try self.addCopy(name)
    }

    /// Saves a copy of the app's data on the current phone.
    func backUp(as name: String) throws(StepProblem) {
        let backup = self.backup(name)
        guard !DurableFile.exists(backup) else { throw .failed("the backup \(name) exists already") }
        let folder = self.current.phone.home.appFolder
        guard DurableFile.exists(folder) else { throw .failed("the app has no data yet") }
        try Self.copy(folder, to: backup)
    }

    /// Terminates the app and replaces its data with an earlier copy.
    func restoreBackup(_ name: String) async throws(StepProblem) {
        let backup = self.backup(name)
        guard DurableFile.exists(backup) else {
            throw .failed("the phone \(self.current.name) has no backup \(name); `back up app` makes one")
        }
        await self.current.phone.endProcess()
        let folder = self.current.phone.home.appFolder
        do {
            if DurableFile.exists(folder) { try FileManager.default.removeItem(atPath: folder) }
        } catch {
            throw .failed("the app's data cannot be replaced: \(error.localizedDescription)")
        }
        try Self.copy(backup, to: folder)
    }

    /// Returns the folder for a backup of the current phone.
    ///
    /// It is next to the phones' folders.
    private func backup(_ name: String) -> String { "\(self.folder)/.backups/\(self.current.name)/\(name)" }

    /// Copies a folder except for the phone's lock, which belongs to its process.
    private static func copy(_ folder: String, to copy: String) throws(StepProblem) {
        do {
            try DurableFile.makeFolder(DurableFile.folder(of: copy))
            try FileManager.default.copyItem(atPath: folder, toPath: copy)
            if DurableFile.exists("\(copy)/lock") { try DurableFile.remove("\(copy)/lock") }
        } catch {
            let reason = (error as? FileError)?.reason ?? error.localizedDescription
            throw .failed("\(folder) cannot be copied: \(reason)")
        }
    }
}

/// Steps that use the admin socket or the deletion portal.
extension ScenarioRun {
    func operate(_ step: OperatorStep) async throws(StepProblem) {
        let lab = try self.world.requireLab()
        switch step {
        case .revokeWallet(let phone):
            try await lab.operate("revoke wallet", ["wallets": [try self.walletID(of: phone)]])
        case .revokeRecoveryCode(let code):
            try await lab.operate("revoke recovery-code", ["code": try self.recoveryCode(code)])
        case .removeFromDenyList(let code):
            try await lab.operate("deny-list remove", ["code": try self.recoveryCode(code)])
        case .revokeSolution: try await lab.operate("revoke solution")
        case .restoreSolution: try await lab.operate("restore solution")
        case .refreshShares: try await self.refreshShares(lab)
        case .safeBiometricUnlock(let rollout):
            let flag = Flag(flag: .safeBiometricUnlock, rollout: try self.rollout(rollout))
            try await lab.operate("flags set", flag)
        case .updatePolicy(let rules):
            guard !rules.isEmpty else {
                return try await lab.operate("update-policy clear", ["platforms": Platform.allCases])
            }
            guard let now: ServerTime = try await lab.lookUp("update-policy show") else {
                throw .failed("the server does not show its update policy")
            }
            let policy = Policy(rules: try rules.map { (rule) throws(StepProblem) in try Self.rule(rule, at: now.now) })
            try await lab.operate("update-policy set", policy)
        }
    }

    /// Begins the replacement and waits until the server has made the shares of all wallets.
    private func refreshShares(_ lab: LabServer) async throws(StepProblem) {
        struct Maintenance: Decodable {
            let refresh: Progress?

            struct Progress: Decodable {
                let state: String
                let problem: String?
            }
        }
        try await lab.operate("vault refresh-shares")
        while let maintenance: Maintenance = try await lab.lookUp("maintenance show") {
            switch maintenance.refresh?.state {
            case "running": try? await Task.sleep(for: .milliseconds(10))
            case "done": return
            default: throw .failed("the shares are not replaced: \(maintenance.refresh?.problem ?? "unknown state")")
            }
        }
    }

    private struct Flag: Encodable {
        let flag: FeatureFlag
        let rollout: Rollout
    }

    private struct Policy: Encodable {
        let platforms = Platform.allCases
        let rules: [UpdateRule]
    }

    private struct ServerTime: Decodable {
        let now: Timestamp
    }

    /// Enters a code in the deletion portal, which only reveals whether the code is right.
    func revoke(with code: String) async throws(StepProblem) {
        switch try await self.world.revoke(with: try self.filled(code)) {
        case .revoked: return
        case .notRecognised: throw .failed("the portal did not recognize the code")
        }
    }

    /// Returns the id of the named phone's wallet, or of the current phone's if `name` is nil.
    private func walletID(of name: String?) throws(StepProblem) -> WalletID {
        guard let name else {
            guard let walletID = self.current.walletID else { throw .failed("no wallet was registered on the phone") }
            return walletID
        }
        guard let phone = self.phones[name] else {
            throw .failed("unknown phone `\(name)`; known are \(self.phones.keys.sorted().joined(separator: ", "))")
        }
        guard let walletID = phone.walletID else { throw .failed("no wallet was registered on the phone `\(name)`") }
        return walletID
    }

    private func recoveryCode(_ text: String) throws(StepProblem) -> RecoveryCode {
        let filled = try self.filled(text)
        return try mapError(RecoveryCode(reading: filled.utf8)) { (problem: SecretTextProblem) in
            StepProblem.failed("the recovery code \(problem)")
        }
    }

    private func rollout(_ value: ConfigValue) throws(StepProblem) -> Rollout {
        if let names = value["phones"]?.texts {
            return .wallets(Set(try names.map { (name) throws(StepProblem) in try self.walletID(of: name) }))
        }
        if let text = value.text, text.hasSuffix("%"), let number = Int(text.dropLast()) { return .percentage(number) }
        return value.text == "on" ? .on : .off
    }

    /// Converts a rule of the update policy to its admin protocol form.
    private static func rule(_ value: ConfigValue, at now: Timestamp) throws(StepProblem) -> UpdateRule {
        let word: UpdateRule.Word =
            switch value["say"]?.text {
            case "notify": .notify
            case "recommend": .recommend
            case "warn": .warn(until: now + (value["in"]?.duration ?? .seconds(86_400)))
            case "block": .block(updateAvailable: value["update_available"]?.truth ?? true)
            default: .ok
            }
        let from = value["from"]?.text.flatMap(AppVersion.init)
        guard let rule = UpdateRule(from: from, below: value["below"]?.text.flatMap(AppVersion.init), word) else {
            throw .failed("the rule's range of versions is empty")
        }
        return rule
    }
}
