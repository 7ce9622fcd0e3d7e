internal import HostSystem
internal import Vocabulary

extension English {
    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    /// Returns the text for the notice, such as `2 wrong PINs since Tuesday 14:05`.
    func attempts(_ notice: AttemptNotice) -> String {
        var sentences: [String] = []
        if notice.wrongPINs > 0, notice.hint == nil {
            let count = notice.wrongPINs == 1 ? "1 wrong PIN" : "\(notice.wrongPINs) wrong PINs"
            sentences.append(count + (notice.since.map { " since \(self.day($0))" } ?? "") + ".")
        }
        if notice.tampering.contains(.unexplainedAttempts) {
            sentences.append("PINs were tried that this app did not send. Contact us.")
        }
        let others = notice.tampering.filter { $0 != .unexplainedAttempts }.map(\.rawValue).joined(separator: ", ")
        if !others.isEmpty {
            sentences.append("The server's proof of your PIN attempts is wrong (\(others)). Contact us.")
        }
        if let hint = notice.hint { sentences.append(self.suspicion(hint)) }
        return sentences.joined(separator: " ")
    }

    private func suspicion(_ hint: AttemptHint) -> String {
        guard hint.finding == .unexplainedAttempts else {
            let finding = hint.finding.rawValue
            return "Our count of your PIN attempts may be wrong (\(finding)). Enter your PIN to check this."
        }
        let count = hint.wrongPINs == 1 ? "1 wrong PIN" : "\(hint.wrongPINs) wrong PINs"
        let last = hint.lastWrong.map { ": \(count), the last one \(self.day($0))" } ?? ""
        return "PINs may have been tried that this app did not send\(last). Enter your PIN to check this."
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
