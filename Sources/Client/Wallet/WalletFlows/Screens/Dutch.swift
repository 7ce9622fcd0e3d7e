internal import HostSystem
internal import Vocabulary

/// The Dutch texts.
///
/// Like ``English``, this is one long switch over all texts, so that a missing one is a compile-time error.
struct Dutch {
    let product: String
    let now: Timestamp
    let uptime: Duration

    func string(_ text: Text) -> String {
        switch text {
        case .splash: "Startscherm"
        case .walletDeleted: "Je wallet is verwijderd"
        case .walletDeletedByUser(withCode: true): "Je hebt deze wallet verwijderd met je verwijdercode"
        case .walletDeletedByUser(withCode: false): "Je hebt deze wallet verwijderd in de app"
        case .walletBlocked: "Je wallet is geblokkeerd"
        case .walletBlockedCreateNew: "Sluit deze app of maak een nieuwe wallet om de app weer te gebruiken."
        case .personBlocked: "Je bent geblokkeerd"
        case .cannotUseNow: "Je kunt \(self.product) nu niet gebruiken."
        case .solutionRevoked: "\(self.product) kan niet meer worden gebruikt"
        case .technicalProblem: "Je kunt \(self.product) nu niet gebruiken door een technisch probleem bij ons."
        case .contact: "Contact"
        case .contactUs: "Kijk op onze website of neem contact met ons op"
        case .moreInformation: "Meer informatie"
        case .updateExists: "Er is een update."
        case .updateRecommended: "Er is een update. We raden je aan om die te installeren."
        case .versionBlockedIn(let time): "Update nu. Deze versie wordt over \(Self.length(time)) geblokkeerd."
        case .updateNeeded: "Update nodig"
        case .updateToGoOn: "Update de app om verder te gaan."
        case .appIsBlocked: "App is geblokkeerd"
        case .versionBlocked: "Deze versie van de app kan niet meer worden gebruikt."
        case .introduction(let page): "Introductie (\(page)/3)"
        case .introductionWhat: "\(self.product) bewaart je gegevens op je eigen toestel."
        case .introductionShare: "Jij bepaalt wat je deelt, en met wie."
        case .introductionSecure: "Je opent de app met een pincode die alleen jij kent."
        case .privacyConsiderations: "Over je privacy"
        case .privacySummary: "Je gegevens blijven bij jou."
        case .privacyStatement: "Privacyverklaring"
        case .privacyInFull:
            "Je gegevens staan versleuteld op je toestel. Je pincode verlaat je toestel nooit."
        case .choosePIN: "Kies een pincode"
        case .choosePINDigits: "Kies een pincode van 6 cijfers."
        case .pinTooSimple: "Pincode te eenvoudig"
        case .pinBreaks(let rule): Self.refusal(rule)
        case .repeatPIN: "Herhaal je pincode"
        case .repeatPINDigits: "Voer dezelfde 6 cijfers nog een keer in."
        case .pinDifferentRetry: "Pincode is anders, probeer opnieuw"
        case .pinDifferentStartOver: "Pincode is anders, begin opnieuw"
        case .sureToStop: "Weet je zeker dat je wilt stoppen?"
        case .stopped: "Gestopt"
        case .configureBiometrics: "Biometrie instellen"
        case .wantsBiometrics(let kind): "Wil je de app ontgrendelen met \(Self.kind(kind))?"
        case .setupConfirmed: "Pincode en biometrie ingesteld"
        case .walletSecured: "Je \(self.product) is beveiligd"
        case .writeDownDeletionCode: "Schrijf je verwijdercode op"
        case .deletionCodePurpose: "Met deze code kun je je \(self.product) op afstand verwijderen."
        case .openWithPIN: "Open de app met je pincode"
        case .openWithYourPIN: "Voer je pincode in"
        case .enterPINToFinish: "Voer je pincode één keer in om je app verder te beveiligen"
        case .enterPINAfterChange: "Wat je wallet op dit toestel opent, is veranderd. Voer je pincode in"
        case .biometricNotRecognized: "Biometrie niet herkend"
        case .biometricTryAgain: "Probeer opnieuw of open de app met je pincode."
        case .biometricNotRecognizedEnterPIN: "Biometrie niet herkend, voer je pincode in"
        case .biometricNotRecognizedThenPIN: "Biometrie niet herkend, voer je pincode in"
        case .biometricUsePIN: "Open de app met je pincode."
        case .biometricTooMany: "Te veel mislukte pogingen. Open met je pincode"
        case .biometricUnlockFailed: "Ontgrendelen met biometrie mislukt"
        case .biometricNoFallback(let reason): Self.warning(reason)
        case .prompt(let purpose): self.question(purpose)
        case .promptAccepts(let method, let kind): "Bevestig met \(Self.means(method, kind))."
        case .biometricsAreOn: "Je kunt de app openen zonder je pincode."
        case .biometricsAreOff: "Je opent de app met je pincode."
        case .noBiometricEnrolled: "Geen biometrie ingesteld"
        case .enrollBiometricFirst: "Stel eerst je gezicht of vingerafdruk in bij de instellingen van dit toestel."
        case .unlockWith: "Ontgrendelen met"
        case .unlockWithWhat: "Waarmee wil je de app openen?"
        case .scanWithWallet: "Scan de QR-code met \(self.product)"
        case .scanWithWalletWhy: "Scan deze QR-code voor je veiligheid met de app zelf."
        case .notReady: "Je \(self.product) is nog niet klaar"
        case .notReadyWhy: "Voeg eerst je identiteit toe. Open daarna de link opnieuw."
        case .finishFirst(let session): "Rond eerst \(self.name(session)) af"
        case .finishFirstWhy: "Rond eerst af waar je mee bezig bent. Open daarna de link opnieuw."
        case .inactivityWarning: "Je hebt even niets gedaan"
        case .stillThere(let end): "Ben je er nog? De app vergrendelt over \(Self.countdown(end - self.uptime))."
        case .confirmWithPIN: "Bevestig met je pincode"
        case .confirmWithYourPIN: "Voer je pincode in om te bevestigen"
        case .lastAttempt(let request, isFinal: false):
            "\(self.string(request)). Je hebt nog 1 poging. Daarna wordt je app tijdelijk geblokkeerd."
        case .lastAttempt(let request, isFinal: true):
            "\(self.string(request)). Je hebt nog 1 poging. Daarna wordt je app voorgoed geblokkeerd."
        case .given(let text): text
        case .givenWithPIN(let text): "\(text)\nVoer je pincode in om te bevestigen"
        case .wrongPINRetry: "Verkeerde pincode, probeer opnieuw"
        case .wrongPIN: "Verkeerde pincode, probeer het nog een keer."
        case .wrongPINLeft(let count): "Verkeerde pincode, je hebt nog \(Self.attempts(count))."
        case .wrongPINBlockNext: "Verkeerde pincode, je hebt nog 1 poging. Daarna wordt je app tijdelijk geblokkeerd."
        case .wrongPINFinal(let count):
            "Verkeerde pincode, je hebt nog \(Self.attempts(count)). Daarna wordt je app voorgoed geblokkeerd."
        case .temporarilyBlocked: "Tijdelijk geblokkeerd"
        case .blockedUntil(let end): "De app is nog \(Self.countdown(end - self.uptime)) geblokkeerd."
        case .blockedForGood: "App is geblokkeerd"
        case .tooManyFailedEntries:
            "Je hebt te vaak een verkeerde pincode ingevoerd. Als je de app wilt gebruiken, moet je de gegevens "
                + "verwijderen en de wallet opnieuw instellen."
        case .forgotPIN: "Pincode vergeten?"
        case .forgotPINDelete:
            "Niemand kan je vertellen wat je pincode is. Je kunt de wallet verwijderen en opnieuw instellen."
        case .obtainPID: "Identiteit toevoegen"
        case .obtainPIDWhy: "Voeg je identiteit toe aan \(self.product)."
        case .dashboard: "Overzicht"
        case .menu: "Menu"
        case .settings: "Instellingen"
        case .appInformation: "Over deze app"
        case .pinChanged: "Pincode gewijzigd"
        case .useNewPIN: "Vanaf nu open je de app met je nieuwe pincode."
        case .deletionCode: "Verwijdercode"
        case .wipeAppData: "Appgegevens wissen"
        case .sureToDelete: "Wil je alle gegevens verwijderen?"
        case .underConstruction: "in aanbouw"
        case .attempts(let notice): self.attempts(notice)
        case .noInternet: "Geen internet"
        case .checkConnection: "Controleer je internetverbinding en probeer het opnieuw."
        case .serverUnreachable: "Server niet bereikbaar"
        case .notReachedNow(notCounted: false): "De dienst is nu niet bereikbaar."
        case .notReachedNow(notCounted: true): "De dienst is nu niet bereikbaar. Er is geen poging geteld."
        case .notReachedEitherPIN: "De dienst is nu niet bereikbaar. Je pincode kan de oude of de nieuwe zijn."
        case .deviceInsecure: "Toestel niet veilig"
        case .deviceCannotBeUsed: "Dit toestel kan niet worden gebruikt voor \(self.product)."
        case .somethingWrong: "Er ging iets mis"
        case .quoteCode(let id): "Noem deze code: \(id)"
        case .cannotBeOpened(let cause): "\(Self.reason(cause)) \(Self.wayOut(cause))"
        }
    }

    func title(_ action: ActionID) -> String {
        switch action {
        case .back: "Terug"
        case .biometric: "Biometrie"
        case .biometrics: "Biometrie"
        case .call: "Bellen"
        case .cancel: "Annuleren"
        case .changePIN: "Pincode wijzigen"
        case .close: "Sluiten"
        case .confirm: "Bevestigen"
        case .createNewWallet: "Maak een nieuwe \(self.product)"
        case .dashboard: "Overzicht"
        case .deleteData: "Gegevens verwijderen"
        case .deleteWallet: "Wallet verwijderen"
        case .deletionCode: "Verwijdercode"
        case .devicePasscode: "Toegangscode van het toestel"
        case .disable: "Uitzetten"
        case .either: "Een van beide"
        case .enable: "Aanzetten"
        case .enterPassword: "Pincode invoeren"
        case .forgotPIN: "Pincode vergeten"
        case .help: "Help"
        case .info: "Info"
        case .logOut: "Uitloggen"
        case .menu: "Menu"
        case .next: "Volgende"
        case .no: "Nee"
        case .obtain: "Toevoegen"
        case .ok: "OK"
        case .readMore: "Lees meer"
        case .readPrivacyStatement: "Lees de privacyverklaring"
        case .resetWallet: "Wallet opnieuw instellen"
        case .retry: "Opnieuw"
        case .scanQRCode: "QR-code scannen"
        case .settings: "Instellingen"
        case .skip: "Overslaan"
        case .startOver: "Begin opnieuw"
        case .toHelpDesk: "Naar de helpdesk"
        case .toStore: "Naar de Play Store of App Store"
        case .tryAgain: "Probeer opnieuw"
        case .writtenDown: "Ik heb de code opgeschreven"
        case .yesContinue: "Ja, ga door"
        case .yesDelete: "Ja, verwijder"
        case .yesStop: "Ja, stop"
        }
    }

    /// Returns texts such as "59 seconden", "1 seconde" or "2 minuten".
    static func countdown(_ remaining: Duration) -> String {
        switch Countdown(remaining) {
        case .seconds(let count): count == 1 ? "1 seconde" : "\(count) seconden"
        case .minutes(let count): count == 1 ? "1 minuut" : "\(count) minuten"
        case .hours(let count): "\(count) uur"
        case .days(let count): "\(count) dagen"
        }
    }

    private static func length(_ duration: Duration) -> String {
        switch LongTime(duration) {
        case .hours(let count): "\(count) uur"
        case .days(let count): "\(count) dagen"
        }
    }

    private static func attempts(_ count: Int) -> String {
        count == 1 ? "1 poging" : "\(count) pogingen"
    }

    private static func refusal(_ rule: PINRule) -> String {
        switch rule {
        case .sixCharacters: "Een pincode heeft precies 6 cijfers."
        case .digitsOnly: "Een pincode bestaat alleen uit cijfers."
        case .differentDigits: "Een pincode heeft minstens twee verschillende cijfers."
        case .notAscending: "De cijfers van een pincode mogen niet steeds één hoger zijn."
        case .notDescending: "De cijfers van een pincode mogen niet steeds één lager zijn."
        }
    }
}

extension Dutch {
    private static func kind(_ kind: BiometricSupport) -> String {
        switch kind {
        case .face: "gezichtsherkenning"
        case .fingerprint: "je vingerafdruk"
        case .none, .notEnrolled: "biometrie"
        }
    }

    private static func means(_ method: UnlockMethod, _ kind: BiometricSupport) -> String {
        switch method {
        case .biometric: Self.kind(kind)
        case .passcode: "de toegangscode van dit toestel"
        case .either: "\(Self.kind(kind)) of de toegangscode van dit toestel"
        }
    }

    private func question(_ purpose: Prompt.Purpose) -> String {
        switch purpose {
        case .unlock: "\(self.product) openen"
        case .enable: "Ontgrendelen met biometrie aanzetten"
        case .disable: "Ontgrendelen met biometrie uitzetten"
        case .changePIN: "Pincode wijzigen"
        case .migrate: "Je app verder beveiligen"
        case .confirm: "Bevestigen"
        }
    }

    private static func warning(_ reason: BiometricFailure) -> String {
        switch reason {
        case .mayTryAgain:
            "Zonder biometrie kan je wallet niet open. Probeer opnieuw of stel je wallet opnieuw in: alle gegevens "
                + "worden dan verwijderd."
        case .nothingEnrolled:
            "Wat je wallet opent, zoals een vinger, is niet ingesteld. Stel het in en probeer opnieuw, of stel je "
                + "wallet opnieuw in: alle gegevens worden dan verwijderd."
        case .lockedOut:
            "Te veel mislukte pogingen. Ontgrendel dit toestel met de toegangscode en start de app opnieuw, of stel je "
                + "wallet opnieuw in: alle gegevens worden dan verwijderd."
        case .keyIsGone:
            "De sleutel van je wallet staat niet meer op dit toestel. Je kunt je wallet alleen opnieuw instellen: alle "
                + "gegevens worden dan verwijderd."
        }
    }

    private static func reason(_ cause: FailureCause) -> String {
        switch cause {
        case .hardwareKeyMissing:
            "De sleutel van je wallet staat niet op dit toestel, zoals na het overzetten naar een nieuw toestel."
        case .walletUnknown: "Onze dienst kent deze wallet niet, zoals na een kopie van een ander toestel."
        case .pinKeyUnknown:
            "De gegevens van je wallet op dit toestel horen niet bij je pincode, zoals na een oude back-up."
        default: "De gegevens van je wallet zijn beschadigd of horen bij een andere wallet."
        }
    }

    private static func wayOut(_ cause: FailureCause) -> String {
        cause.wayOut == .reset
            ? "Je kunt je wallet alleen opnieuw instellen: alle gegevens worden dan verwijderd."
            : "Probeer het opnieuw, of stel je wallet opnieuw in: alle gegevens worden dan verwijderd."
    }

    private func name(_ session: HostSession) -> String {
        switch session {
        case .pinRecovery: "je nieuwe pincode"
        case .disclosure: "het delen"
        case .issuance: "het toevoegen van je kaartje"
        case .transfer: "het verhuizen van je \(self.product)"
        }
    }
}

extension Dutch {
    private static let weekdays = ["zondag", "maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag"]
    private static let months = [
        "januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober", "november",
        "december",
    ]

    /// Returns the text for the notice, such as `2 foute pincodes sinds dinsdag 14:05`.
    func attempts(_ notice: AttemptNotice) -> String {
        var sentences: [String] = []
        if notice.wrongPINs > 0, notice.hint == nil {
            let count = notice.wrongPINs == 1 ? "1 foute pincode" : "\(notice.wrongPINs) foute pincodes"
            sentences.append(count + (notice.since.map { " sinds \(self.day($0))" } ?? "") + ".")
        }
        if notice.tampering.contains(.unexplainedAttempts) {
            sentences.append("Er zijn pincodes geprobeerd die deze app niet heeft verstuurd. Neem contact met ons op.")
        }
        let others = notice.tampering.filter { $0 != .unexplainedAttempts }.map(\.rawValue).joined(separator: ", ")
        if !others.isEmpty {
            sentences.append("Het bewijs van de server over je pogingen klopt niet (\(others)).")
            sentences.append("Neem contact met ons op.")
        }
        if let hint = notice.hint { sentences.append(self.suspicion(hint)) }
        return sentences.joined(separator: " ")
    }

    private func suspicion(_ hint: AttemptHint) -> String {
        guard hint.finding == .unexplainedAttempts else {
            return "We tellen je pogingen misschien verkeerd (\(hint.finding.rawValue)). Controleer dit met je pincode."
        }
        let count = hint.wrongPINs == 1 ? "1 foute pincode" : "\(hint.wrongPINs) foute pincodes"
        let last = hint.lastWrong.map { ": \(count), de laatste \(self.day($0))" } ?? ""
        return "Er zijn misschien pincodes geprobeerd die deze app niet heeft verstuurd\(last). "
            + "Controleer dit met je pincode."
    }

    private func day(_ time: Timestamp) -> String {
        let local = LocalTime(time)
        guard local.isWithinAWeek(of: self.now) else {
            let year = local.year == LocalTime(self.now).year ? "" : " \(local.year)"
            return "\(local.day) \(Self.months[local.month - 1])\(year) \(local.clock)"
        }
        return "\(Self.weekdays[local.weekday]) \(local.clock)"
    }
}
