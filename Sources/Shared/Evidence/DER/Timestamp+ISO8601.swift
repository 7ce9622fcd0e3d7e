package import Vocabulary

extension Timestamp {
    /// The time in whole seconds, such as `2026-01-31T12:00:00Z`.
    package var iso8601: String {
        let seconds = self.milliseconds.flooredQuotient(by: 1000)
        let days = seconds.flooredQuotient(by: 86_400)
        let date = CertificateTime.date(daysSince1970: Int(days))
        let inDay = Int(seconds - days * 86_400)
        let numbers = [date.month, date.day, inDay / 3600, inDay / 60 % 60, inDay % 60].map { number in
            (number < 10 ? "0" : "") + String(number)
        }
        let year = String(repeating: "0", count: max(0, 4 - String(date.year).count)) + String(date.year)
        return "\(year)-\(numbers[0])-\(numbers[1])T\(numbers[2]):\(numbers[3]):\(numbers[4])Z"
    }

    /// Parses the format written by ``iso8601``.
    ///
    /// Fractional seconds, and `+00:00` instead of `Z`, are also accepted.
    package init?(iso8601 text: String) {
        let zone = text.hasSuffix("Z") ? 1 : text.hasSuffix("+00:00") ? 6 : 0
        guard zone > 0 else { return nil }
        let parts = text.dropLast(zone).split(omittingEmptySubsequences: false) { !$0.isNumber }
        let numbers = parts.prefix(6).compactMap { Int($0) }
        guard numbers.count == 6, parts.count <= 7, (0...9999).contains(numbers[0]), (1...12).contains(numbers[1]),
            (1...31).contains(numbers[2]), numbers[3] < 24, numbers[4] < 60, numbers[5] < 60
        else { return nil }
        let days = CertificateTime.daysSince1970(year: numbers[0], month: numbers[1], day: numbers[2])
        let seconds = Int64(days) * 86_400 + Int64(numbers[3] * 3600 + numbers[4] * 60 + numbers[5])
        let fraction = parts.count == 7 ? Int64((parts[6] + "000").prefix(3)) : 0
        guard let fraction else { return nil }
        self.init(milliseconds: seconds * 1000 + fraction)
    }
}
