internal import WalletFlows

/// Maps keys to the actions on a screen.
///
/// The keys shown next to the actions come from this map.
struct KeyMap: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        var key: Character
        var title: String
        /// The title for narrow layouts.
        var short: String
        var target: Target

        init(key: Character, title: String, short: String? = nil, target: Target) {
            self.key = key
            self.title = title
            self.short = short ?? title
            self.target = target
        }
    }

    enum Target: Hashable, Sendable {
        case action(ActionID)
        case present(Presentation)
    }

    let entries: [Entry]
    /// Whether digits are part of a PIN.
    let takesPIN: Bool

    /// The keys that are available on every screen.
    static let phoneKeys: [(key: Character, title: String)] = [
        ("b", "background"), ("l", "link"), ("q", "quit"),
    ]

    /// Creates the map for a screen.
    ///
    /// Actions only use letters, so that a surplus digit after a PIN cannot trigger one, such as a deletion.
    init(_ screen: Screen, _ words: FrameWords = FrameWords()) {
        self.takesPIN = screen.inputs.contains { $0.id == "pin" }
        let takesBiometric = screen.inputs.contains { $0.id == "biometric" }
        self.entries = takesBiometric ? Self.presentations(words) : Self.lettered(screen.actions)
    }

    private init(entries: [Entry]) {
        self.entries = entries
        self.takesPIN = false
    }

    /// The same actions without keys, for a screen behind a prompt.
    var withoutKeys: KeyMap {
        KeyMap(entries: self.entries.map { Entry(key: " ", title: $0.title, short: $0.short, target: $0.target) })
    }

    /// Returns the target for a key, or nil if the key is not assigned.
    func target(of character: Character) -> Target? {
        self.entries.first { $0.key == character }?.target
    }

    /// The target for the escape key: the action that leaves the screen, if it has one.
    var wayBack: Target? {
        let back: [Target] = [
            .present(.cancel), .action(.back), .action(.cancel), .action(.close), .action(.no),
        ]
        return back.first { target in self.entries.contains { $0.target == target } }
    }

    /// The entry that is initially selected: the first one that does not delete anything.
    ///
    /// Enter activates the selected entry, and pressing it once too often must not cost the user a wallet. Nothing is
    /// selected on a screen that asks for a PIN.
    var preselected: Int? {
        guard !self.takesPIN else { return nil }
        return self.entries.firstIndex { entry in
            switch entry.target {
            case .action(let action): !action.destroys
            case .present: true
            }
        }
    }

    /// Returns the entries for a prompt, whose keys are the same in every language.
    private static func presentations(_ words: FrameWords) -> [Entry] {
        [
            ("m", "Match: the owner's face or finger", "Match", Presentation.match),
            ("x", "Mismatch: somebody else's", "Mismatch", .mismatch),
            ("p", "Passcode of the phone", "Passcode", .passcode),
            ("w", "Wrong passcode", "Wrong passcode", .wrongPasscode),
            ("c", "Cancel", "Cancel", .cancel),
        ].map { key, title, short, presentation in
            Entry(key: key, title: words(title), short: words(short), target: .present(presentation))
        }
    }

    /// Assigns each action the first letter in its title that is still free.
    private static func lettered(_ actions: [Screen.Action]) -> [Entry] {
        var taken = Set(Self.phoneKeys.map(\.key))
        return actions.compactMap { action in
            let letters = action.title.lowercased() + "abcdefghijklmnopqrstuvwxyz"
            guard let key = letters.first(where: { ("a"..."z").contains($0) && !taken.contains($0) }) else {
                return nil
            }
            taken.insert(key)
            return Entry(key: key, title: action.title, target: .action(action.id))
        }
    }
}
