internal import Vocabulary

/// The fraction of a fleet's wallets that are on iOS, in thousandths.
///
/// These wallets are evenly distributed.
package struct PlatformShare: Hashable, Sendable, CustomStringConvertible {
    /// The number of iOS wallets per thousand, in `0...1000`.
    package let thousandthsOfIOS: Int

    /// 30%.
    package static let standard = PlatformShare(unchecked: 300)

    /// Parses `30%`, `12.5%` or `0%`.
    ///
    /// Returns nil for any other text.
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

    /// Returns the platform for a slot, which never changes.
    ///
    /// Every range of slots has the right fraction of iOS wallets.
    func platform(of slot: Int) -> Platform {
        (slot + 1) * self.thousandthsOfIOS / 1000 > slot * self.thousandthsOfIOS / 1000 ? .iOS : .android
    }

    package var description: String {
        self.thousandthsOfIOS.isMultiple(of: 10)
            ? "\(self.thousandthsOfIOS / 10)%" : "\(self.thousandthsOfIOS / 10).\(self.thousandthsOfIOS % 10)%"
    }
}
