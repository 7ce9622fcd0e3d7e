internal import FoundationEssentials
package import Vocabulary

/// Reads and writes dates in certificates (UTCTime and GeneralizedTime).
///
/// Reading is more lenient than RFC 5280 §4.1.2.5.
enum CertificateTime {
    /// Reads either form, with Z or an offset.
    ///
    /// Fractional seconds are dropped.
    static func read(_ node: DERNode) throws(DERError) -> Timestamp {
        let isShort = node.isUniversal(DERTag.utcTime)
        guard isShort || node.isUniversal(DERTag.generalizedTime) else { throw .expected("time") }
        var text = try node.primitive("time")[...]
        guard text.count <= 32 else { throw .time }
        var year = try Self.number(&text, digits: isShort ? 2 : 4)
        if isShort { year += year >= 50 ? 1900 : 2000 }
        let month = try Self.number(&text, digits: 2)
        let day = try Self.number(&text, digits: 2)
        let hour = try Self.number(&text, digits: 2)
        let minute = try Self.number(&text, digits: 2)
        let second = try Self.number(&text, digits: 2)
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 60 else {
            throw .time
        }
        if text.first == UInt8(ascii: ".") { text = text.dropFirst().drop { (0x30...0x39).contains($0) } }
        let days = Self.daysSince1970(year: year, month: month, day: day)
        let seconds = Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second) - (try Self.offset(&text))
        guard text.isEmpty else { throw .time }
        return Timestamp(milliseconds: seconds * 1000)
    }

    /// Writes UTCTime up to 2049 and GeneralizedTime after that.
    static func write(_ time: Timestamp) -> [UInt8] {
        let seconds = time.milliseconds.flooredQuotient(by: 1000)
        let date = Self.date(daysSince1970: Int(seconds.flooredQuotient(by: 86_400)))
        let inDay = Int(seconds - seconds.flooredQuotient(by: 86_400) * 86_400)
        let clock = [date.month, date.day, inDay / 3600, inDay / 60 % 60, inDay % 60]
        let isShort = (1950...2049).contains(date.year)
        let year = isShort ? Self.digits(date.year % 100, 2) : Self.digits(date.year, 4)
        return DERWriter.value(
            [isShort ? 0x17 : 0x18],
            year + clock.flatMap { Self.digits($0, 2) } + [UInt8(ascii: "Z")]
        )
    }

    /// Returns the number of days since 1970-01-01 in the proleptic Gregorian calendar.
    ///
    /// Years start in March, so that leap days are at the end.
    static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.flooredQuotient(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func offset(_ text: inout ArraySlice<UInt8>) throws(DERError) -> Int64 {
        switch text.popFirst() {
        case UInt8(ascii: "Z"): return 0
        case UInt8(ascii: "+"): return try Self.hoursAndMinutes(&text)
        case UInt8(ascii: "-"): return -(try Self.hoursAndMinutes(&text))
        default: throw .time
        }
    }

    private static func hoursAndMinutes(_ text: inout ArraySlice<UInt8>) throws(DERError) -> Int64 {
        let hours = try Self.number(&text, digits: 2)
        return Int64(hours * 3600 + (try Self.number(&text, digits: 2)) * 60)
    }

    private static func number(_ text: inout ArraySlice<UInt8>, digits: Int) throws(DERError) -> Int {
        guard text.count >= digits, text.prefix(digits).allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .time
        }
        let number = text.prefix(digits).reduce(0) { $0 * 10 + Int($1 - 0x30) }
        text = text.dropFirst(digits)
        return number
    }

    private static func digits(_ number: Int, _ count: Int) -> [UInt8] {
        let text = Array(String(number).utf8)
        return Array(repeating: 0x30, count: max(0, count - text.count)) + text
    }
}

extension FixedWidthInteger where Self: SignedInteger {
    func flooredQuotient(by divisor: Self) -> Self {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Timestamp {
    /// The time in whole seconds, such as `2026-01-31T12:00:00Z`.
    package var iso8601: String {
        Date(timeIntervalSince1970: Double(self.milliseconds.flooredQuotient(by: 1000))).formatted(.iso8601)
    }

    /// Parses the format written by ``iso8601``.
    ///
    /// Fractional seconds, and `+00:00` instead of `Z`, are also accepted.
    package init?(iso8601 text: String) {
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: fractional)) else {
            return nil
        }
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }
}
