package import Vocabulary

/// A wallet operation that reads or changes the wallet's count of wrong PINs.
///
/// A PIN key is identified by its generation: 0 as registered, and another number for each new key. The load tool knows
/// which PIN is right for each generation, whereas the server only knows keys.
package enum WalletOperation: Hashable, Sendable {
    /// An instruction that requires a PIN.
    ///
    /// `generation` is the generation of the PIN key whose id it contains.
    case check(isRight: Bool, generation: Int)
    /// A check that sets a new PIN key.
    case change(isRight: Bool, generation: Int, to: Int)
    /// OpenSession, whose response reports the wallet's state.
    case opening
}

/// The server's response to an operation, without its secrets.
package enum WalletResponse: Hashable, Sendable {
    /// The verdict on the PIN.
    ///
    /// A changed PIN is reported as `valid`. The place is nil if the response had no receipt.
    case verdict(PINVerdict, VerdictPlace?)
    /// The PIN was accepted, but the share in the response does not belong to this wallet.
    case validWithForeignShare
    case opened(PINState, generation: Int)
    /// The PIN was not judged because a different PIN key is current; nil if the wallet never had that key.
    case pinKeyChanged(current: Int?)
    /// The call was rejected before the PIN was judged, for example because there were too many calls or they were out
    /// of order.
    ///
    /// `unavailable` and `internal` do not tell us whether the PIN was judged, so they are treated as lost responses
    /// instead.
    case refused
    /// The wallet is revoked.
    ///
    /// Nothing was judged.
    case revoked
}

/// A verdict's place in the server's order of the wallet's attempts, according to its receipt.
package struct VerdictPlace: Hashable, Sendable {
    /// The epoch of the store, which increases with every restore.
    package var epoch: UInt64
    /// The number of the wallet's judged attempts up to and including this verdict.
    package var number: UInt64
    /// False for a block and for a repeated wrong attempt.
    package var isJudged: Bool

    package init(epoch: UInt64 = 1, number: UInt64, isJudged: Bool = true) {
        self.epoch = epoch
        self.number = number
        self.isJudged = isJudged
    }

    package init(epoch: UInt64, _ leaf: AttemptLeaf) {
        self.init(epoch: epoch, number: leaf.number, isJudged: leaf.outcome != .notJudged)
    }
}

extension WalletOperation {
    /// The generation of the PIN key named by the operation.
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

    /// The current generation after the operation's PIN was found to be right.
    var generationAfterwards: Int? {
        switch self {
        case .check(_, let generation): generation
        case .change(_, _, let next): next
        case .opening: nil
        }
    }
}
