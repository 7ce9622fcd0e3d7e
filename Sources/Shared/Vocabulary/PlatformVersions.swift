/// An Android security patch level: a month, or a day in it.
///
/// Phones state the level of the system as YYYYMM, and those of the vendor and boot images as YYYYMMDD, with 00 for an
/// unknown day (AOSP, `Tag.aidl`). Some phones state the month alone for the images too.
package struct PatchLevel: Hashable, Sendable, CustomStringConvertible {
    /// The year, in `2000...2999`.
    package let year: Int
    /// The month, in `1...12`.
    package let month: Int
    /// A day of the month, or nil if only the month is known.
    package let day: Int?

    /// Returns nil if the calendar does not have the month or day.
    private init?(year: Int, month: Int, day: Int?) {
        guard (2000...2999).contains(year), (1...12).contains(month) else { return nil }
        if let day {
            guard (1...Self.dayCount(of: month, in: year)).contains(day) else { return nil }
        }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Reads a level as stated by a phone, such as 202506, 20250605 or 20250600.
    ///
    /// Returns nil if the number is not a date. Some phones state 0.
    package init?(stated number: Int) {
        switch number {
        case 100_000...999_999: self.init(year: number / 100, month: number % 100, day: nil)
        case 10_000_000...99_999_999:
            let day = number % 100
            self.init(year: number / 10_000, month: number / 100 % 100, day: day == 0 ? nil : day)
        default: return nil
        }
    }

    /// Parses `2025-06` or `2025-06-05`.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2] || parts.map(\.utf8.count) == [4, 2, 2] else { return nil }
        let numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(part) : nil
        }
        guard numbers.count == parts.count else { return nil }
        self.init(year: numbers[0], month: numbers[1], day: numbers.count == 3 ? numbers[2] : nil)
    }

    /// Returns whether this level is at least `minimum`.
    ///
    /// A month counts as its first day, because a phone that states the month alone proves no later patch.
    package func isAtLeast(_ minimum: PatchLevel) -> Bool {
        !self.firstDay.lexicographicallyPrecedes(minimum.firstDay)
    }

    private var firstDay: [Int] { [self.year, self.month, self.day ?? 1] }

    package var description: String {
        ([self.month] + (self.day.map { [$0] } ?? []))
            .reduce("\(self.year)") { text, number in text + (number < 10 ? "-0" : "-") + "\(number)" }
    }

    private static func dayCount(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// The version of an iOS app's bundle (CFBundleVersion): one to four numbers, such as 1314 or 2.10.1.
///
/// Unlike the numbers of an ``AppVersion``, these may be as long as a time: builds are often numbered by date.
package struct BundleVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// One to four numbers of at most 18 digits each, without zeros at the end.
    private let numbers: [Int]
    package let description: String

    /// Returns nil for anything other than one to four numbers separated by dots.
    package init?(_ text: String) {
        guard var numbers = AppVersion.numbers(in: text, mostDigits: 18) else { return nil }
        while numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
        self.description = text
    }

    /// Compares the numbers.
    ///
    /// Missing ones count as 0, so 1.4 equals 1.4.0.
    package static func == (left: BundleVersion, right: BundleVersion) -> Bool { left.numbers == right.numbers }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.numbers) }

    /// Compares the first numbers that differ.
    package static func < (left: BundleVersion, right: BundleVersion) -> Bool {
        left.numbers.lexicographicallyPrecedes(right.numbers)
    }
}
