package import Vocabulary

/// What a wallet says to its server, as far as it touches the count of wrong PINs.
///
/// A PIN key is known by its generation: 0 as registered, another number for each new one. The tool that sends knows
/// which PIN is right for which; the server knows only keys.
package enum Message: Hashable, Sendable {
    /// An instruction that a PIN unlocks; `generation` is that of the PIN key id it names.
    case check(isRight: Bool, generation: Int)
    /// The same, with a new PIN key as its effect.
    case change(isRight: Bool, generation: Int, to: Int)
    /// OpenSession, whose answer says where the wallet stands.
    case opening
}

/// What came back, without its secrets.
package enum Answer: Hashable, Sendable {
    /// What became of the PIN; that it was changed is `valid` too.
    case verdict(PINVerdict)
    /// It was called valid, but the share that came is not this wallet's.
    case validWithForeignShare
    /// A session was opened.
    case opened(PINState, generation: Int)
    /// Nothing was judged, because another PIN key is in force; nil where the wallet never had the one named.
    case pinKeyChanged(current: Int?)
    /// Turned away before anything was judged: too many calls, out of order, not allowed.
    ///
    /// What leaves open whether it was judged, `unavailable` and `internal`, is a lost answer instead.
    case refused
}

extension Message {
    /// Of the PIN key that it names.
    var generation: Int? {
        switch self {
        case .check(_, let generation), .change(_, let generation, _): generation
        case .opening: nil
        }
    }

    var isRight: Bool {
        switch self {
        case .check(let isRight, _), .change(let isRight, _, _): isRight
        case .opening: false
        }
    }

    /// The PIN key in force once it was found right.
    var generationAfterwards: Int? {
        switch self {
        case .check(_, let generation): generation
        case .change(_, _, let next): next
        case .opening: nil
        }
    }
}

/// A message on its way, or one whose answer will not come.
struct SentMessage: Sendable {
    let id: Int
    /// The entry of a PIN that it belongs to: the id of the first message with its attempt id.
    let entry: Int
    let message: Message
    /// The earliest time that the server's clock may have shown, in milliseconds since 1970.
    let sent: Int64
    /// Its place among all that was sent and all that had to have happened.
    let order: Int
    /// True where nothing else of its wallet was on its way at any time since it was sent.
    var isAlone = true
    /// The last moment at which it can still be judged; nil while its answer may come.
    var lostUntil: Int64?
    /// True where it may have been judged before everything was forgotten, so that no answer to it tells anything.
    var isForgotten = false
    /// True where its entry was sent more than once, so that it cannot stand for another message.
    var isNamed = false
}

/// Messages that the server cannot tell apart, and that may stand for each other until they are answered.
struct MessageKind: Hashable, Sendable {
    let message: Message
    /// Where the entry was repeated: a repeated entry is not counted twice.
    let entry: Int?

    init(_ sent: SentMessage) {
        self.message = sent.message
        self.entry = sent.isNamed ? sent.entry : nil
    }
}
