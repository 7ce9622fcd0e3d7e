/// YAML of a few lines that expands to more values than there are atoms, as in files from an attacker.
package enum BillionLaughs {
    /// Lists of aliases to the previous list.
    private static func lists(_ depth: Int) -> String {
        (1...depth).map { level in
            let aliases = [String](repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            return "a\(level): &a\(level) [\(aliases)]\n"
        }.joined()
    }

    /// The lists as values, and as a key, which a parser compares with all others before its caller sees it.
    package static let texts = [
        "a0: &a0 [lol]\n" + Self.lists(40),
        "a0: &a0 [lol]\n" + Self.lists(40) + "? *a40\n: laugh\n? *a39\n: laugh\n",
    ]
}
