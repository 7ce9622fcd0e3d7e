/// YAML of some lines that stands for more values than there are atoms, as files from strangers may be.
package enum ManyLaughs {
    /// Lists of aliases to the list before.
    private static func lists(_ depth: Int) -> String {
        (1...depth).map { level in
            let aliases = [String](repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            return "a\(level): &a\(level) [\(aliases)]\n"
        }.joined()
    }

    /// As values, and as a key, which a parser compares with all others before anybody else sees it.
    package static let texts = [
        "a0: &a0 [lol]\n" + Self.lists(40),
        "a0: &a0 [lol]\n" + Self.lists(40) + "? *a40\n: laugh\n? *a39\n: laugh\n",
    ]
}
