internal import Synchronization
internal import Vocabulary

/// Which connections may be carrying something of which wallet.
///
/// It makes G7 true on this server: a revocation returns and no share leaves afterwards. A connection joins a wallet
/// *before* the store step that may release something of it, and leaves only when it is closed. A revocation first
/// commits, then aborts all that joined and waits for their end. Whoever joins later finds the wallet revoked in the
/// store; whoever joined earlier is aborted; there is no third case.
final class ConnectionRegistry: Sendable {
    private struct Member {
        let connection: LiveConnection
        var wallets: Set<WalletID> = []
        var sessionEnd: Timestamp?
        var session: OpenSessionFacts?
    }

    private struct WalletMembers {
        var connections: Set<UInt64> = []
        let lane = InstructionLane()
    }

    private struct Members {
        var byConnection: [UInt64: Member] = [:]
        var byWallet: [WalletID: WalletMembers] = [:]
    }

    private let members = Mutex(Members())

    /// How many connections joined some wallet.
    var count: Int { self.members.withLock { $0.byConnection.count } }

    /// Says that this connection may soon carry something of the wallet.
    ///
    /// - Important: Before the store step that may release it, never after.
    /// - Returns: what its instructions take turns in with those of the wallet's other connections.
    @discardableResult
    func join(_ connection: LiveConnection, wallet: WalletID) -> InstructionLane {
        self.members.withLock { members in
            members.byConnection[connection.id, default: Member(connection: connection)].wallets.insert(wallet)
            members.byWallet[wallet, default: WalletMembers()].connections.insert(connection.id)
            return members.byWallet[wallet, default: WalletMembers()].lane
        }
    }

    /// The connection's session will be over at `end`.
    func sessionOpened(on connection: UInt64, until end: Timestamp, _ session: OpenSessionFacts? = nil) {
        self.members.withLock { members in
            members.byConnection[connection]?.sessionEnd = end
            members.byConnection[connection]?.session = session
        }
    }

    /// The open sessions by their connections.
    func sessions() -> [UInt64: OpenSessionFacts] {
        self.members.withLock { $0.byConnection.compactMapValues(\.session) }
    }

    /// How many sessions are open.
    var sessionCount: Int { self.members.withLock { $0.byConnection.values.count { $0.session != nil } } }

    /// The connection is closed: nothing can leave through it any more.
    func leave(_ connection: UInt64) {
        self.members.withLock { members in
            guard let member = members.byConnection.removeValue(forKey: connection) else { return }
            for wallet in member.wallets {
                members.byWallet[wallet]?.connections.remove(connection)
                if members.byWallet[wallet]?.connections.isEmpty == true { members.byWallet[wallet] = nil }
            }
        }
    }

    /// Ends all connections of a wallet at once and returns when they are closed.
    ///
    /// The connection that asks for it stays, to be answered: its calls are served one after the other, so nothing else
    /// of it is on its way.
    ///
    /// - Important: After the revocation's commit, never before.
    func abortAll(of wallet: WalletID, except asking: UInt64?) async {
        let doomed = self.members.withLock { members in
            (members.byWallet[wallet]?.connections ?? []).filter { $0 != asking }.compactMap {
                members.byConnection[$0]?.connection
            }
        }
        for connection in doomed { connection.abort() }
        for connection in doomed { await connection.closed() }
    }

    /// How many connections joined this wallet.
    func count(of wallet: WalletID) -> Int { self.members.withLock { $0.byWallet[wallet]?.connections.count ?? 0 } }

    /// Returns when nothing of these wallets is on its way any more.
    ///
    /// A connection at rest stays: its next call finds the revocation in the store and is told of it. Where an answer may
    /// be on its way, the connection is ended at once.
    ///
    /// - Important: After the revocation's commit, never before.
    func settle(_ wallets: some Sequence<WalletID>) async {
        let concerned = self.members.withLock { members in
            wallets.reduce(into: Set<UInt64>()) { $0.formUnion(members.byWallet[$1]?.connections ?? []) }
                .compactMap { members.byConnection[$0]?.connection }
        }
        await Self.settle(concerned)
    }

    /// The same for every wallet that there is.
    func settleAll() async {
        await Self.settle(self.members.withLock { $0.byConnection.values.map(\.connection) })
    }

    private static func settle(_ connections: [LiveConnection]) async {
        await withDiscardingTaskGroup { group in
            for connection in connections {
                group.addTask {
                    if await connection.isAtRest() { return }
                    connection.abort()
                    await connection.closed()
                }
            }
        }
    }

    /// Closes the connections whose sessions are over; how many.
    func endSessions(dueAt now: Timestamp) -> Int {
        let due = self.members.withLock { members in
            var due: [LiveConnection] = []
            for (id, member) in members.byConnection {
                guard let end = member.sessionEnd, end <= now else { continue }
                due.append(member.connection)
                members.byConnection[id]?.sessionEnd = nil
            }
            return due
        }
        for connection in due { connection.close() }
        return due.count
    }
}
