internal import ConfigText
internal import DeviceInterface
internal import WalletFlows

extension Step.Action {
    /// Returns nil if the step is unknown or its value has the wrong shape.
    init?(_ name: String, _ value: ConfigValue) {
        let action =
            Self.ofApp(name, value) ?? Self.ofWorld(name, value) ?? Self.ofOperator(name, value)
            ?? Self.expectation(name, value)
        guard let action else { return nil }
        self = action
    }

    private static func ofApp(_ name: String, _ value: ConfigValue) -> Self? {
        switch name {
        case "launch": .launch(LinkText(value))
        case "resume": .resume(LinkText(value))
        case "background": .background(value.duration)
        case "kill app": .killApp(atWrite: value["at_write"]?.number)
        case "tap": .tap((value.texts ?? []).compactMap(ActionID.init))
        case "enter": .enter(value.texts ?? [])
        case "biometric": .present((value.texts ?? []).compactMap(Presentation.init))
        case "link": LinkText(value).map(Self.link)
        case "host session": .hostSession(value.text.flatMap(HostSession.init))
        case "confirm": Self.confirmation(value)
        case "refused": Self.refusal(value)
        case "set up": .setUp(SetUp(value))
        case "unlock": value.text.map(Self.unlock)
        default: nil
        }
    }

    private static func confirmation(_ value: ConfigValue) -> Self? {
        value["title"]?.text.map { .confirm(title: $0, details: value["details"]?.text ?? "") }
    }

    private static func refusal(_ value: ConfigValue) -> Self? {
        guard let (name, value) = value.fields?.first else { return nil }
        if name == "confirm" { return Self.confirmation(value).map(Self.refused) }
        guard let text = value.text else { return nil }
        return switch name {
        case "tap": ActionID(rawValue: text).map { Self.refused(.tap([$0])) }
        case "enter": .refused(.enter([text]))
        case "biometric": Presentation(rawValue: text).map { Self.refused(.present([$0])) }
        default: nil
        }
    }

    private static func ofWorld(_ name: String, _ value: ConfigValue) -> Self? {
        switch name {
        case "advance": value.duration.map(Self.advance)
        case "keep": .keep((value.fields ?? [:]).compactMapValues(\.text))
        default: Self.ofPhone(name, value) ?? Self.ofServer(name, value)
        }
    }

    private static func ofPhone(_ name: String, _ value: ConfigValue) -> Self? {
        switch name {
        case "device": .device(DeviceChange(value))
        case "wallet": .configure(AppConfiguration(value))
        case "set clock back": value.duration.map { .setClock(.zero - $0) }
        case "set clock forward": value.duration.map(Self.setClock)
        case "enroll": value.text.flatMap(BiometricSupport.init).map(Self.enroll)
        case "wipe keychain": .wipeKeychain
        case "remove screen lock": .removeScreenLock
        case "storage": .storage(isFull: value.text == "full")
        case "enter passcode": .enterPasscode
        case "restore to another device": .restore(DeviceChange(value))
        case "phone": .phone(value.text ?? value["name"]?.text ?? "", DeviceChange(value["device"]))
        case "clone phone": value.text.map(Self.clone)
        case "back up app": value.text.map(Self.backUp)
        case "restore backup": value.text.map(Self.restoreBackup)
        default: nil
        }
    }

    private static func ofServer(_ name: String, _ value: ConfigValue) -> Self? {
        switch name {
        case "stop server": .stopServer
        case "kill server": .killServer
        case "start server": .startServer((value.fields ?? [:]).mapValues(\.flowText))
        case "start second server": .startSecondServer
        case "freeze server": .freezeServer
        case "thaw server": .thawServer
        case "exchange certificate": value.text.flatMap(ExchangedCertificate.init).map(Self.exchangeCertificate)
        default: nil
        }
    }

    private static func ofOperator(_ name: String, _ value: ConfigValue) -> Self? {
        switch name {
        case "revoke wallet": .operate(.revokeWallet(phone: value.text))
        case "revoke recovery code": value.text.map { .operate(.revokeRecoveryCode($0)) }
        case "remove from deny list": value.text.map { .operate(.removeFromDenyList($0)) }
        case "revoke solution": .operate(.revokeSolution)
        case "restore solution": .operate(.restoreSolution)
        case "refresh shares": .operate(.refreshShares)
        case "safe biometric unlock": .operate(.safeBiometricUnlock(OperatorStep.Rollout(value)))
        case "update policy": .operate(.updatePolicy((value.list ?? []).map { OperatorStep.Rule($0) }))
        case "revoke with code": value.text.map(Self.revokeWithCode)
        default: nil
        }
    }

    private static func expectation(_ step: ConfigValue) -> Self? {
        step.fields?.first.flatMap { name, value in Self.expectation(name, value) }
    }

    private static func expectation(_ name: String, _ value: ConfigValue) -> Self? {
        switch name {
        case "expect": .expectScreen(ScreenExpectation(value))
        case "expect screen": value.text.map(Self.expectScreenOf)
        case "expect one of": .expectOneOf((value.list ?? []).map { ScreenExpectation($0) })
        case "expect all": .expectAll((value.list ?? []).compactMap(Self.expectation))
        case "trace": .expectTrace(TraceExpectation(value))
        case "server": .expectServer(ServerExpectation(value))
        case "event": .expectEvent(EventExpectation(value))
        default: nil
        }
    }
}

extension LinkText {
    init?(_ value: ConfigValue) {
        guard let url = value.text ?? value["url"]?.text else { return nil }
        self.url = url
        self.source = value["from"]?.text.flatMap(IncomingLink.Source.init) ?? .app
    }
}

extension SetUp {
    init(_ value: ConfigValue) {
        self.pin = value["pin"]?.text ?? ""
        self.enablesBiometrics = value["biometrics"]?.text == "enable"
        self.obtainsPID = value["pid"]?.truth ?? false
        self.codeName = value["keep_code"]?.text
    }
}

extension OperatorStep.Rollout {
    init(_ value: ConfigValue) {
        if let phones = value["phones"]?.texts {
            self = .phones(phones)
        } else if let text = value.text, text.hasSuffix("%"), let percentage = Int(text.dropLast()) {
            self = .percentage(percentage)
        } else {
            self = value.text == "on" ? .on : .off
        }
    }
}

extension OperatorStep.Rule {
    init(_ value: ConfigValue) {
        self.word = value["say"]?.text ?? "ok"
        self.from = value["from"]?.text
        self.below = value["below"]?.text
        self.blockedIn = value["in"]?.duration
        self.isUpdateAvailable = value["update_available"]?.truth ?? true
    }
}

extension ScreenExpectation {
    init(_ value: ConfigValue) {
        self.screen = value["screen"]?.text
        self.kind = value["kind"]?.text
        self.title = value["title"]?.text
        self.texts = value["text"]?.texts ?? []
        self.actions = value["actions"]?.texts ?? []
        self.missingActions = value["no_actions"]?.texts ?? []
        self.input = value["input"]?.text
        self.values = (value["values"]?.fields ?? [:]).compactMapValues(\.text)
        self.error = value["error"]?.text
        self.exitCode = value["exit"]?.number
        self.isLocked = value["locked"]?.truth
        self.isRunning = value["running"]?.truth
        self.isInFront = value["in_front"]?.truth
        self.keychainItems = value["keychain_items"]?.number
    }
}

extension TraceExpectation {
    init(_ value: ConfigValue) {
        if let steps = value["contains"]?.texts {
            self = .contains(steps)
        } else {
            self = .exactly(value.texts ?? [])
        }
    }
}

extension ServerExpectation {
    init(_ value: ConfigValue) {
        self.state = value["state"]?.text
        self.attemptsLeft = value["attempts_left"]?.number
        self.failedAttempts = value["failed_attempts"]?.number
        self.round = value["round"]?.number
        self.isFinalRound = value["final_round"]?.truth
        self.revoked = value["revoked"]?.text
        self.isSolutionRevoked = value["solution_revoked"]?.truth
        self.hasRecoveryCode = value["recovery_code"]?.truth
        self.hasDeletionCode = value["deletion_code"]?.truth
        self.wantsSafeMode = value["safe_biometric_unlock"]?.truth
    }
}

extension EventExpectation {
    init(_ value: ConfigValue) {
        self.name = value.text ?? value["name"]?.text ?? "none"
        self.kind = value["kind"]?.text
        self.url = value["url"]?.text
        self.title = value["title"]?.text
        self.details = value["details"]?.text
    }
}
