internal import DeviceInterface
internal import WalletFlows

/// Which key does what on a screen: the keys that are shown beside each action are the ones that work.
struct KeyMap: Hashable, Sendable {
    /// One action and its key.
    struct Entry: Hashable, Sendable {
        var key: Character
        var title: String
        /// The title where there is little room.
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
    /// Whether digits are a PIN's.
    let takesPIN: Bool

    /// Keys of the phone itself, on every screen.
    static let phoneKeys: [(key: Character, title: String)] = [
        ("b", "background"), ("l", "link"), ("q", "quit"),
    ]

    /// - Parameter followsPIN: Whether a PIN was the last thing entered: a digit too many must then select nothing, and
    ///   least of all a deletion.
    init(_ screen: Screen, followsPIN: Bool = false) {
        self.takesPIN = screen.inputs.contains { $0.id == "pin" }
        if screen.inputs.contains(where: { $0.id == "biometric" }) {
            self.entries = Self.presentations
        } else {
            self.entries =
                self.takesPIN || followsPIN ? Self.lettered(screen.actions) : Self.numbered(screen.actions)
        }
    }

    /// What a key does; nil where it does nothing.
    func target(of character: Character) -> Target? {
        self.entries.first { $0.key == character }?.target
    }

    /// What the escape key does: the way back that the screen offers, if it offers one.
    var wayBack: Target? {
        let back: [Target] = [
            .present(.cancel), .action(.back), .action(.cancel), .action(.close), .action(.no),
        ]
        return back.first { target in self.entries.contains { $0.target == target } }
    }

    /// Which entry is pointed at as long as nobody has chosen: the first that destroys nothing.
    ///
    /// Enter takes what is pointed at, and whoever presses it once too often must not have lost a wallet. Where a PIN is
    /// typed nothing is pointed at: digits are what that screen is for.
    var preselected: Int? {
        guard !self.takesPIN else { return nil }
        return self.entries.firstIndex { entry in
            switch entry.target {
            case .action(let action): !action.destroys
            case .present: true
            }
        }
    }

    private static let presentations: [Entry] = [
        Entry(key: "m", title: "Match: the owner's face or finger", short: "Match", target: .present(.match)),
        Entry(key: "x", title: "Mismatch: somebody else's", short: "Mismatch", target: .present(.mismatch)),
        Entry(key: "p", title: "Passcode of the phone", short: "Passcode", target: .present(.passcode)),
        Entry(key: "w", title: "Wrong passcode", target: .present(.wrongPasscode)),
        Entry(key: "c", title: "Cancel", target: .present(.cancel)),
    ]

    /// Digits, as long as there are any.
    private static func numbered(_ actions: [Screen.Action]) -> [Entry] {
        zip("123456789", actions).map { key, action in
            Entry(key: key, title: action.title, target: .action(action.id))
        }
    }

    /// The first letter of each title that is still free, where digits are a PIN's.
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
