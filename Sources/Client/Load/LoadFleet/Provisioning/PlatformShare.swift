internal import Vocabulary

/// How many of a fleet's wallets are on iOS, in thousandths, evenly spread.
package struct PlatformShare: Hashable, Sendable, CustomStringConvertible {
    /// `0...1000`.
    package let thousandthsOfIOS: Int

    /// Three in ten.
    package static let standard = PlatformShare(unchecked: 300)

    /// Reads `30%`, `12.5%` or `0%`; nil for anything else.
    package init?(_ text: String) {
        guard text.hasSuffix("%"), let percent = Double(text.dropLast()), (0...100).contains(percent) else {
            return nil
        }
        let thousandths = (percent * 10).rounded()
        guard abs(thousandths - percent * 10) < 1e-9 else { return nil }
        self.init(unchecked: Int(thousandths))
    }

    private init(unchecked thousandths: Int) {
        self.thousandthsOfIOS = thousandths
    }

    /// The platform of a slot: always the same, and right for any stretch of slots.
    func platform(of slot: Int) -> Platform {
        (slot + 1) * self.thousandthsOfIOS / 1000 > slot * self.thousandthsOfIOS / 1000 ? .iOS : .android
    }

    package var description: String {
        self.thousandthsOfIOS.isMultiple(of: 10)
            ? "\(self.thousandthsOfIOS / 10)%" : "\(self.thousandthsOfIOS / 10).\(self.thousandthsOfIOS % 10)%"
    }
}
