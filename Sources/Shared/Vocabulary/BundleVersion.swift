/// The version of an iOS app's bundle (CFBundleVersion): one to four numbers, such as 1314 or 2.10.1.
///
/// Unlike the numbers of an ``AppVersion``, these may be as long as a time: builds are often numbered by date.
package struct BundleVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// One to four numbers of at most 18 digits each, without zeros at the end.
    private let numbers: [Int64]
    package let description: String

    /// Returns nil for anything other than one to four numbers separated by dots.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var numbers: [Int64] = []
        for part in parts {
            guard (1...18).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int64(part)
            else { return nil }
            numbers.append(number)
        }
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
