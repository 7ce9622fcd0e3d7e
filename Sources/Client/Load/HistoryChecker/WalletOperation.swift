package import Vocabulary

/// An operation of a wallet that reads or changes its count of wrong PINs.
///
/// A PIN key is identified by its generation: 0 as registered, another number for each new key. The load tool
/// knows which PIN is right for each generation; the server knows only keys.
package enum WalletOperation: Hashable, Sendable {
    /// An instruction that a PIN unlocks; `generation` is that of the PIN key id it names.
    case check(isRight: Bool, generation: Int)
    /// A check whose effect is a new PIN key.
    case change(isRight: Bool, generation: Int, to: Int)
    /// OpenSession, whose response reports the wallet's state.
    case opening
}

/// The server's response to an operation, without its secrets.
package enum WalletResponse: Hashable, Sendable {
    /// The verdict on the PIN; a changed PIN is reported as `valid`.
    case verdict(PINVerdict)
    /// The PIN was called valid, but the share in the response is not this wallet's.
    case validWithForeignShare
    /// A session was opened.
    case opened(PINState, generation: Int)
    /// The PIN was not judged, because another PIN key is in force; nil if the wallet never had that key.
    case pinKeyChanged(current: Int?)
    /// The call was rejected before the PIN was judged: too many calls, out of order, not allowed.
    ///
    /// `unavailable` and `internal` do not say whether the PIN was judged; they count as lost responses instead.
    case refused
}

extension WalletOperation {
    /// The generation of the PIN key that it names.
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

    /// The generation in force after its PIN was found right.
    var generationAfterwards: Int? {
        switch self {
        case .check(_, let generation): generation
        case .change(_, _, let next): next
        case .opening: nil
        }
    }

    /// The same operation with a right PIN instead of a wrong one, or the reverse.
    var reversed: WalletOperation {
        switch self {
        case .check(let isRight, let generation): .check(isRight: !isRight, generation: generation)
        case .change(let isRight, let generation, let next):
            .change(isRight: !isRight, generation: generation, to: next)
        case .opening: .opening
        }
    }
}

/// An operation that has been sent and whose response has not arrived, or never will.
struct PendingOperation: Sendable {
    let id: Int
    /// The attempt that it belongs to: the id of the first operation with its attempt id.
    let attempt: Int
    let operation: WalletOperation
    /// The earliest time that the server's clock may have shown, in milliseconds since 1970.
    let sent: Int64
    /// Its place in the order of sent operations and of events that must have happened.
    let order: Int
    /// True if no other operation of its wallet was pending at any time since it was sent.
    var isAlone = true
    /// The last moment at which a lost operation can still be judged; nil while its response may arrive.
    var lostUntil: Int64?
    /// True if it may have been judged before the state was reset to unknown, so that its response proves nothing.
    var predatesReset = false
    /// True if its attempt was sent more than once, so that no other operation is interchangeable with it.
    var isRepeated = false

    /// Returns true if the response is possible without regard to the history.
    func allows(_ response: WalletResponse) -> Bool {
        switch response {
        case .verdict(.valid): self.operation.isRight
        case .verdict(.wrong): !self.operation.isRight || self.isRepeated
        case .verdict(.blocked), .verdict(.blockedPermanently), .pinKeyChanged: self.operation != .opening
        case .opened: self.operation == .opening
        case .refused: true
        case .validWithForeignShare: false
        }
    }
}

/// Operations that the server cannot tell apart and that are interchangeable until their responses arrive.
struct OperationClass: Hashable, Sendable {
    let operation: WalletOperation
    /// Set if the attempt was repeated, because the server counts a repeated attempt once.
    let attempt: Int?

    init(_ pending: PendingOperation) {
        self.operation = pending.operation
        self.attempt = pending.isRepeated ? pending.attempt : nil
    }
}

/// The pending operations of one class, by their places in the order.
struct PendingGroup: Sendable {
    let operationClass: OperationClass
    /// Ascending.
    var all: [Int] = []
    /// Those whose responses may still arrive; ascending.
    var live: [Int] = []

    mutating func insert(_ operation: PendingOperation) {
        self.all.insert(operation.order, at: (self.all.lastIndex { $0 < operation.order } ?? -1) + 1)
        guard operation.lostUntil == nil else { return }
        self.live.insert(operation.order, at: (self.live.lastIndex { $0 < operation.order } ?? -1) + 1)
    }

    mutating func remove(_ operation: PendingOperation) {
        self.all.removeAll { $0 == operation.order }
        self.live.removeAll { $0 == operation.order }
    }
}

/// The properties of the operations with outstanding responses that decide which earlier states they may report.
struct PendingObservers {
    private var isAny = false
    private var isOpening = false
    private var isRepeated = false
    private var isRight = false
    private var generations: Set<Int> = []

    init(_ groups: [PendingGroup]) {
        for group in groups where !group.live.isEmpty {
            self.isAny = true
            if group.operationClass.operation == .opening { self.isOpening = true }
            if group.operationClass.attempt != nil { self.isRepeated = true }
            if group.operationClass.operation.isRight { self.isRight = true }
            if let generation = group.operationClass.operation.generation { self.generations.insert(generation) }
        }
    }

    /// Returns true if one of them may have been answered in a state without changing it.
    ///
    /// A PIN that arrives at an open wallet is counted, unless it is right and no wrong PIN is counted, or it
    /// repeats an attempt.
    func mayObserve(_ state: ModelState) -> Bool {
        guard self.isAny else { return false }
        if self.isOpening || self.isRepeated || state.isPermanent || state.block != nil { return true }
        if self.isRight, state.failures == 0 { return true }
        return self.generations.contains { $0 != state.generation }
    }
}
