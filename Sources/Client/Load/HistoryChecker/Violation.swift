package import Vocabulary

/// An answer that no server may give which keeps the promises of docs/protocol.md.
///
/// Whatever was lost, cut short or overtaken on the way has been taken into account: there is no order of what was
/// sent in which the answer would be true.
package enum Violation: Error, Hashable, Sendable {
    case rightPINCalledWrong
    case wrongPINCalledValid
    /// The verdict was right, the share another's.
    case shareOfAnotherWallet
    /// A PIN was judged at least so long before the block could have ended.
    case judgedDuringBlock(early: Duration)
    /// A PIN was judged after rounds × attempts wrong ones.
    case judgedBeyondBound
    /// The state that came with a verdict, and those that were possible.
    case impossibleCount(said: PINState, possible: [PINState])
    case blockWithoutCause
    case permanentBlockWithoutCause
    /// A block was named that ends at another time than it must, or has another length.
    case impossibleBlock(said: Duration)
    /// A session showed another state than the wallet is in.
    case impossibleOpening(said: PINState, possible: [PINState])
    /// Another PIN key was said to be in force than any change could have put there.
    case impossiblePINKey
    /// A call was said not to have been looked at, and yet it was counted.
    case refusedButCounted
    /// An answer that does not belong to what was asked.
    case answerToAnotherQuestion
}

extension Violation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .rightPINCalledWrong: "the right PIN was called wrong"
        case .wrongPINCalledValid: "a wrong PIN was called valid"
        case .shareOfAnotherWallet: "a right PIN was answered with a share that is not this wallet's"
        case .judgedDuringBlock(let early):
            "a PIN was judged during a block, at least \(early.milliseconds) ms before its end"
        case .judgedBeyondBound: "a PIN was judged although the wallet is blocked for good"
        case .impossibleCount(let said, let possible):
            "a verdict said \(Self.words(said)), but possible was only \(Self.words(possible))"
        case .blockWithoutCause: "a wallet was said to be blocked that is in no block"
        case .permanentBlockWithoutCause: "a wallet was said to be blocked for good that is not"
        case .impossibleBlock(let said):
            "a block was said to last \(said.milliseconds) ms more, which is not when it ends"
        case .impossibleOpening(let said, let possible):
            "a session said \(Self.words(said)), but possible was only \(Self.words(possible))"
        case .impossiblePINKey: "a PIN key was said to be in force that no change has put there"
        case .refusedButCounted: "a call was refused as not looked at, but its PIN was counted"
        case .answerToAnotherQuestion: "an answer does not belong to what was asked"
        }
    }

    /// A word for tables and counts; the same whatever the numbers are.
    package var name: String {
        switch self {
        case .rightPINCalledWrong: "right-pin-called-wrong"
        case .wrongPINCalledValid: "wrong-pin-called-valid"
        case .shareOfAnotherWallet: "share-of-another-wallet"
        case .judgedDuringBlock: "judged-during-block"
        case .judgedBeyondBound: "judged-beyond-bound"
        case .impossibleCount: "impossible-count"
        case .blockWithoutCause: "block-without-cause"
        case .permanentBlockWithoutCause: "permanent-block-without-cause"
        case .impossibleBlock: "impossible-block"
        case .impossibleOpening: "impossible-opening"
        case .impossiblePINKey: "impossible-pin-key"
        case .refusedButCounted: "refused-but-counted"
        case .answerToAnotherQuestion: "answer-to-another-question"
        }
    }

    private static func words(_ states: [PINState]) -> String {
        states.isEmpty ? "another" : states.map(self.words).joined(separator: " or ")
    }

    private static func words(_ state: PINState) -> String {
        switch state {
        case .open(let left, let isFinal): "\(left) attempts left\(isFinal ? " in the final round" : "")"
        case .blocked(let remaining): "blocked for \(remaining.milliseconds) ms"
        case .blockedPermanently: "blocked for good"
        }
    }
}
