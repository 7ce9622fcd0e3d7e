internal import HostSystem
internal import Vocabulary

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
