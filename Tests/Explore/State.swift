/// One state of wallet, servers, store and clients; small, because millions are kept.
struct State: Hashable {
    /// A connection.
    ///
    /// The third one revokes the wallet. Another three are connections that were cut while their call waited.
    struct Connection: Hashable {
        /// The number of the state of the server's side in ``ServerRuns``; negative if not connected.
        var node: Int32 = -1
        /// The number of the reply to the waiting step; negative before it.
        var reply: Int32 = -1
        /// The server has sent an answer that has not arrived.
        var hasAnswer = false
        /// The judgment that the answer tells, and the round that it belongs to.
        var serial: UInt8 = 0
        var round: UInt8 = 0

        /// A total order, of no meaning.
        func precedes(_ other: Connection) -> Bool { self.key < other.key }

        private var key: (Int32, Int32, Int, UInt8, UInt8) {
            (self.node, self.reply, self.hasAnswer ? 1 : 0, self.serial, self.round)
        }
    }

    /// The rows of a store, with the last judgment and the number of the present round, for the invariants.
    struct Copy: Hashable {
        var contents: Int32
        var serial: UInt8 = 0
        var round: UInt8 = 0
    }

    var primary: Copy
    var standby: Copy
    var backup: Copy?
    /// The standby lacks the last commit.
    var isBehind = false
    /// The connection whose commit waits for the standby; negative if none does.
    var waiting: Int8 = -1
    var first = Connection()
    var second = Connection()
    var revoking = Connection()
    var firstCut = Connection()
    var secondCut = Connection()
    var revokingCut = Connection()
    var time: Int8 = 0

    /// The state of the connection that lost the answer to the last entry, for traces that a lab can play.
    var lost: Int32 = -1

    // The used part of each bound.
    var sessions: UInt8 = 0
    var messages: UInt8 = 0
    var entries: UInt8 = 0
    var rights: UInt8 = 0
    var changes: UInt8 = 0
    var revocations: UInt8 = 0
    var commands: UInt8 = 0
    var failovers: UInt8 = 0
    var cancellations: UInt8 = 0
    var crashes: UInt8 = 0
    var cuts: UInt8 = 0
    var restores: UInt8 = 0
    var clockSteps: UInt8 = 0

    // The knowledge of clients and operators.
    /// Judgments and rounds so far.
    var serials: UInt8 = 0
    var rounds: UInt8 = 0
    /// A bit for each judgment of which a client knows that it found a wrong PIN.
    var known: UInt16 = 0
    /// Four bits for each judgment: its round.
    var roundOfSerial: UInt64 = 0
    var isRevocationConfirmed = false
    var isChangeConfirmed = false
    var isBlockConfirmed = false
    /// The audit log has the revocation, and the permanent block.
    var isRevocationRecorded = false
    var isBlockRecorded = false

    subscript(connection: Int) -> Connection {
        get {
            switch connection {
            case 0: self.first
            case 1: self.second
            case 2: self.revoking
            case 3: self.firstCut
            case 4: self.secondCut
            default: self.revokingCut
            }
        }
        set {
            switch connection {
            case 0: self.first = newValue
            case 1: self.second = newValue
            case 2: self.revoking = newValue
            case 3: self.firstCut = newValue
            case 4: self.secondCut = newValue
            default: self.revokingCut = newValue
            }
        }
    }

    /// Adds a judgment that found a wrong PIN; returns its number.
    mutating func addJudgment(in round: UInt8) -> UInt8 {
        self.serials += 1
        self.roundOfSerial |= UInt64(round & 15) << (4 * UInt64(self.serials))
        return self.serials
    }

    /// The number of wrong verdicts of a round that clients received.
    func told(in round: UInt8) -> Int {
        guard self.serials > 0 else { return 0 }
        return (1...self.serials).count {
            self.known & 1 << $0 != 0 && UInt8(truncatingIfNeeded: self.roundOfSerial >> (4 * UInt64($0))) & 15 == round
        }
    }
}

/// One step of the exploration.
enum Action: Hashable {
    /// A client sends a message, on a new connection if it is OpenSession or RevokeWithCode.
    case send(Int, Message)
    /// The store carries out the waiting step of a connection's call.
    case step(Int)
    case replicate
    /// The wait for the standby ends early.
    case cancelWait
    /// The standby becomes the primary.
    case failOver(keepsCommit: Bool)
    /// The server continues a call with the store's reply.
    case proceed(Int)
    case deliver(Int)
    /// The connection is cut before its answer arrives.
    case lose(Int)
    /// The connection is cut while its call waits; the server continues the call.
    case cut(Int)
    case crash(Int)
    case backUp
    case restore
    case setClock(Int8)
}
