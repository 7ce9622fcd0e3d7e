internal import HostSystem
internal import Synchronization
internal import Transport
internal import Vault
internal import Vocabulary

/// The connections that may carry each wallet's data.
///
/// The registry guarantees G7 on this server: once a revocation returns, no more shares are sent. A connection joins a
/// wallet *before* the store operation that may release the wallet's data, and leaves only once it is closed. A
/// revocation first commits, then aborts all connections that have joined and waits until they are closed. A connection
/// that joined before that is aborted, and one that joins later finds the revocation in the store. No other case is
/// possible.
final class ConnectionRegistry: Sendable {
    private struct Member {
        let connection: ConnectionHandle
        var wallets: Set<WalletID> = []
        /// The keys of the session's wallet.
        var keys: WalletKeys?
        var sessionEnd: Timestamp?
        var session: SessionSummary?
    }

    private struct WalletMembers {
        var connections: Set<UInt64> = []
        /// The connections whose sessions no new connection displaces, oldest first.
        var protected: [UInt64] = []
        let instructionLock = AsyncLock()
    }

    private struct Members {
        var byConnection: [UInt64: Member] = [:]
        var byWallet: [WalletID: WalletMembers] = [:]

        mutating func unprotect(_ connection: UInt64, of wallets: Set<WalletID>) {
            for wallet in wallets { self.byWallet[wallet]?.protected.removeAll { $0 == connection } }
        }
    }

    /// The number of a wallet's newest sessions that no new connection displaces.
    ///
    /// A phone needs one for each process of the app, and briefly another one after a change of the network, because
    /// the server does not know yet that the old connection is lost.
    ///
    /// Threat: the owner of one wallet could fill the table with its sessions, and no other wallet could connect.
    static let protectedSessions = 4

    private let members = Mutex(Members())

    /// The number of connections that have joined a wallet.
    var count: Int { self.members.withLock { $0.byConnection.count } }

    /// Announces that a connection may soon carry a wallet's data.
    ///
    /// - Important: Must be called before the store operation that may release the data, never after it.
    /// - Returns: A lock that serializes the wallet's instructions across all of its connections.
    @discardableResult
    func join(_ connection: ConnectionHandle, wallet: WalletID) -> AsyncLock {
        self.members.withLock { members in
            members.byConnection[connection.id, default: Member(connection: connection)].wallets.insert(wallet)
            members.byWallet[wallet, default: WalletMembers()].connections.insert(connection.id)
            return members.byWallet[wallet, default: WalletMembers()].instructionLock
        }
    }

    /// Announces that a connection may soon have a session with these keys, which a revocation wipes.
    ///
    /// - Important: Must be called before the store operation that begins the session, never after it.
    func join(_ connection: ConnectionHandle, with keys: WalletKeys) -> AsyncLock {
        let lock = self.join(connection, wallet: keys.wallet)
        self.members.withLock { $0.byConnection[connection.id]?.keys = keys }
        return lock
    }

    /// Records that a connection has a session of a wallet that it has joined, which ends at `end`.
    ///
    /// The wallet's oldest protected session loses its protection if there are too many now.
    ///
    /// - Important: Must be called after the connection was protected, never before.
    func sessionOpened(
        of wallet: WalletID,
        on connection: UInt64,
        until end: Timestamp,
        _ session: SessionSummary? = nil
    ) {
        let unprotected: ConnectionHandle? = self.members.withLock { members in
            members.byConnection[connection]?.sessionEnd = end
            members.byConnection[connection]?.session = session
            members.byWallet[wallet]?.protected.append(connection)
            guard let protected = members.byWallet[wallet]?.protected, protected.count > Self.protectedSessions,
                let oldest = protected.first
            else { return nil }
            members.unprotect(oldest, of: [wallet])
            return members.byConnection[oldest]?.connection
        }
        unprotected?.allowDisplacement()
    }

    /// Returns up to `limit` open sessions after the given connection, sorted by connection, and whether there are
    /// more.
    ///
    /// Every call has to wait for the lock, so only numbers and one page of sessions are copied while it is held.
    func sessions(after last: UInt64, limit: Int) -> (page: [(UInt64, SessionSummary)], hasMore: Bool) {
        let open = self.members.withLock { members in
            members.byConnection.compactMap { id, member in id > last && member.session != nil ? id : nil }
        }
        let page = open.sorted().prefix(limit)
        let sessions = self.members.withLock { members in
            page.compactMap { id in members.byConnection[id]?.session.map { (id, $0) } }
        }
        return (sessions, open.count > limit)
    }

    /// The number of open sessions.
    var sessionCount: Int { self.members.withLock { $0.byConnection.values.count { $0.session != nil } } }

    /// Removes a connection that is closed and can no longer send anything.
    func leave(_ connection: UInt64) {
        self.members.withLock { members in
            guard let member = members.byConnection.removeValue(forKey: connection) else { return }
            members.unprotect(connection, of: member.wallets)
            for wallet in member.wallets {
                members.byWallet[wallet]?.connections.remove(connection)
                if members.byWallet[wallet]?.connections.isEmpty == true { members.byWallet[wallet] = nil }
            }
        }
    }

    /// Wipes the keys of these wallets, aborts all of their connections and returns once they are closed.
    ///
    /// The connection that made the request stays open to receive the answer. It handles one call at a time, so it
    /// cannot have another answer in flight.
    ///
    /// - Important: Must be called after the revocation has been committed, never before.
    func abortAll(of wallets: some Sequence<WalletID>, except asking: UInt64? = nil) async {
        let doomed = self.members.withLock { members in
            var doomed: [ConnectionHandle] = []
            for wallet in wallets {
                for id in members.byWallet[wallet]?.connections ?? [] {
                    guard let member = members.byConnection[id] else { continue }
                    // rule: server-keys-outlive-revocation
                    if member.keys?.wallet == wallet { member.keys?.wipe() }
                    if id != asking { doomed.append(member.connection) }
                }
            }
            return doomed
        }
        for connection in doomed { connection.abort() }
        for connection in doomed { await connection.closed() }
    }

    /// Returns the number of connections that have joined a wallet.
    func count(of wallet: WalletID) -> Int { self.members.withLock { $0.byWallet[wallet]?.connections.count ?? 0 } }

    /// Returns once no data of any wallet is in flight.
    ///
    /// Idle connections stay open, because their next call finds a revocation of the solution in the store and reports
    /// it to the client. A connection that may have an answer in flight is aborted.
    ///
    /// - Important: Must be called after the revocation has been committed, never before.
    func settleAll() async {
        let connections = self.members.withLock { $0.byConnection.values.map(\.connection) }
        await withDiscardingTaskGroup { group in
            for connection in connections {
                group.addTask {
                    if await connection.isIdle() { return }
                    connection.abort()
                    await connection.closed()
                }
            }
        }
    }

    /// Ends all expired sessions, wipes their keys and returns their number.
    ///
    /// Their connections stay open until the clients close them or the idle timeout expires. Calls that require the
    /// session are answered with `session-required`. A call that began before the end keeps the keys until its
    /// connection closes, because a judged PIN needs its answer.
    func endSessions(dueAt now: Timestamp) -> Int {
        let due = self.members.withLock { members in
            var due: [ConnectionHandle] = []
            for (id, member) in members.byConnection {
                guard let end = member.sessionEnd, end <= now else { continue }
                due.append(member.connection)
                members.unprotect(id, of: member.wallets)
                if member.session?.activity.isBusy != true { member.keys?.wipe() }
                members.byConnection[id]?.sessionEnd = nil
                members.byConnection[id]?.session = nil
            }
            return due
        }
        for connection in due { connection.allowDisplacement() }
        return due.count
    }
}

/// The operations on a connection that ``ConnectionRegistry`` needs, independent of the transport.
struct ConnectionHandle: Sendable {
    /// An id that is unique among the connections of this process.
    let id: UInt64
    /// Closes the connection immediately and drops any queued data.
    let abort: @Sendable () -> Void
    /// Allows new connections to displace this one if the table is full.
    let allowDisplacement: @Sendable () -> Void
    /// Returns once the connection is closed and can no longer send anything.
    let closed: @Sendable () async -> Void
    /// Returns whether no call that may release data is being answered and the peer's machine has acknowledged every
    /// answer.
    ///
    /// Waits briefly for the acknowledgment, and returns false if none arrives.
    var isIdle: @Sendable () async -> Bool = { false }
}

/// The activity of a connection: whether it is answering a call, and how many instructions it has received.
final class CallActivity: Sendable {
    private let busy = Atomic<Bool>(false)
    private let instructionCount = Atomic<Int>(0)

    /// Whether a call that may release data is being answered.
    ///
    /// This becomes true before the call can reach the store.
    var isBusy: Bool { self.busy.load(ordering: .sequentiallyConsistent) }
    /// The number of instructions received so far, shown to operators.
    var instructions: Int { self.instructionCount.load(ordering: .relaxed) }

    func begin(mayRelease: Bool = true) { self.busy.store(mayRelease, ordering: .sequentiallyConsistent) }
    func end() { self.busy.store(false, ordering: .sequentiallyConsistent) }
    func countInstruction() { self.instructionCount.add(1, ordering: .relaxed) }
}

/// An open session, as shown to operators.
struct SessionSummary: Sendable {
    let walletID: WalletID
    let source: PeerSource
    let since: Timestamp
    /// The app according to Hello.
    let app: ClaimedApp
    let activity: CallActivity
}

/// The version and platform claimed in Hello.
///
/// Nothing may rely on them.
struct ClaimedApp: Sendable {
    let version: AppVersion
    let platform: Platform
}
