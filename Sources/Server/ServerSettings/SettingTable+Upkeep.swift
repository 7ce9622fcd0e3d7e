internal import Vocabulary

// What is done to the store as a whole.
extension SettingTable {
    static let upkeep: [any SettingDeclaration] = [Self.purgeAfter]

    package static let purgeAfter = Setting(
        "purge.after",
        .optional(.duration(.seconds(86_400) ... .seconds(3650 * 86_400))),
        standard: .some(.seconds(365 * 86_400)),
        "A revoked or wiped wallet is removed this long after its end. Until then a phone that was off is told what became of "
            + "its wallet; a year later hardly any comes back, and what was attested of it need not be kept. Its deletion "
            + "code goes on saying done, and the deny list stays. With none nothing is removed."
    )
}
