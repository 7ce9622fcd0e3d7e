internal import HostSystem
internal import PostgreSQLClient
internal import Synchronization

/// The numbers of the last commits that the database confirmed to this server.
///
/// Shared by the server's lanes.
///
/// Invariant (G3, G7): a database that lacks a confirmed commit judges nothing. Each commit of a lane also writes the
/// lane's next number, and commits are ordered. After a failover or a restore, a lower number than the confirmed one
/// therefore proves that counted attempts or revocations are lost. Any lane that connects compares the numbers of both,
/// and marks the store, which stops all servers until an operator opens an epoch. An epoch that was opened while this
/// server was cut off records which commits of each server it took into account; any confirmed commit beyond these is
/// lost.
///
/// The numbers are also kept in a file outside the database (``CommitMark``), so that a restart does not forget them.
///
/// A position in the log would not work. A statement cannot read the position of its own commit, and the position that
/// a later statement reads includes commits by others that were never reported to anyone.
final class ConfirmedCommits: Sendable {
    private let server: String
    private let path: String?
    private let onRefusal: @Sendable (String, (any Error)?) -> Void
    /// This server's commits.
    private struct Newest {
        /// The confirmed ones.
        var mark: CommitMark
        var file: RecordFile?
        /// The numbers that the database had when this process first connected to it in the present epoch.
        ///
        /// After a cancelled wait, a commit is visible although no standby has it, and a failover may lose it. If these
        /// numbers counted as confirmed at once, that loss would stop all servers.
        var found: CommitMark?

        /// The confirmed commits and those that were found.
        var all: CommitMark {
            var all = self.mark
            if let found = self.found { _ = all.raise(to: found) }
            return all
        }
    }

    private let newest: Mutex<Newest>

    /// Reads the mark left by an earlier process, if the parts name a file for it.
    ///
    /// A missing file is created only with the first commit. If a start that fails created it, an epoch would take the
    /// database's numbers for those that this server confirmed.
    init(_ parts: StoreParts) throws(PostgreSQLStoreOpenError) {
        self.server = parts.server
        self.onRefusal = parts.onRefusal
        self.path = parts.commitMark
        let unknown = CommitMark(server: parts.server)
        guard let path = parts.commitMark else {
            self.newest = Mutex(Newest(mark: unknown))
            return
        }
        let (mark, file): (CommitMark?, RecordFile?)
        do throws(FileError) {
            mark = try CommitMark.read(at: path)
            file = mark == nil ? nil : try RecordFile(opening: path)
        } catch {
            throw .files("\(error)")
        }
        if let mark, mark.server != parts.server { throw .markOfAnotherServer(mark.server, path: path) }
        self.newest = Mutex(Newest(mark: mark ?? unknown, file: file))  // rule: postgresql-commits-forgotten
    }

    /// The number of this server's commits: the confirmed ones, and those that the database had at the start.
    var total: UInt64 { self.newest.withLock(\.all.total) }

    /// Notes a confirmed commit, before any answer that depends on it.
    ///
    /// Throws if another lane has found a later epoch: this commit was made in a database without that epoch, and was
    /// not compared with the epoch's record. The server must not answer then.
    ///
    /// It also throws if the lane's number is not above the confirmed one, since each commit increments it. In that
    /// case, older rows were put back under this connection, for example from a dump. The lane drops its connection,
    /// and the next one finds the lost commits (``areAll(in:)``).
    func note(_ number: Int64, of lane: CommitLane, epoch: Int64) throws(PostgreSQLFailure) {
        var mark = CommitMark(server: self.server)
        mark.epoch = epoch
        mark.numbers[lane] = number
        let refusal: String? = self.newest.withLock { newest in
            guard newest.all.epoch <= epoch else { return "an epoch was opened in another database meanwhile" }
            if newest.mark.epoch == epoch, let confirmed = newest.mark.numbers[lane], number <= confirmed {
                return "the database counts this commit as number \(number), but confirmed number \(confirmed) before"
            }
            self.raise(&newest, to: mark, creating: true)
            return nil
        }
        if let refusal { throw .outcomeUnknown(refusal) }
    }

    /// Returns whether a newly connected database has every confirmed commit, or an epoch that took the missing ones
    /// into account.
    func areAll(in session: StoreSession) throws -> Bool {
        // Taken before the read, because the other lane continues to commit.
        let before = self.newest.withLock(\.mark)
        var stored = CommitMark(server: self.server)
        stored.epoch = session.epoch
        let rows = try session.run(.server(.commitNumbers(of: self.server)))
        for row in 0..<rows.count {
            guard let lane = rows.text(row, 0).flatMap(CommitLane.init) else { continue }
            stored.numbers[lane] = rows.number(row, 1)
        }
        let accounted = before.epoch < stored.epoch ? try session.accountedCommits(of: self.server) : []
        return self.newest.withLock { newest in
            // Once the epoch has changed, later commits of the other lane may be in another database.
            let known = newest.mark.epoch == stored.epoch ? before : newest.mark
            guard stored.contains(known, accounted.first { $0.epoch == known.epoch }) else { return false }
            if newest.found.map({ $0.epoch < stored.epoch }) ?? true { newest.found = stored }
            return true
        }
    }

    /// Runs a commit, and then counts the numbers as confirmed that the database had when this process connected.
    ///
    /// Commits are ordered, so a standby that has this commit has the earlier ones, too.
    func confirmFound<Result>(by commit: () throws -> Result) rethrows -> Result {
        let found = self.newest.withLock(\.found)
        let result = try commit()
        // rule: epoch-mark-of-failed-start
        if let found { self.newest.withLock { self.raise(&$0, to: found, creating: false) } }
        return result
    }

    /// Takes the higher numbers, and writes them to the file.
    ///
    /// - Parameter creating: Whether to create the file if it is missing.
    private func raise(_ newest: inout Newest, to mark: CommitMark, creating: Bool) {
        guard newest.mark.raise(to: mark) else { return }
        do throws(FileError) {
            if let file = newest.file {
                // Not synced: the mark survives any exit of the process, but a power failure may lose its last seconds.
                try file.write(newest.mark.encoded(), at: 0)
            } else if creating, let path = self.path {
                try DurableFile.write(newest.mark.encoded(), to: path)
                newest.file = try RecordFile(opening: path)
            }
        } catch {
            self.onRefusal("the mark of the last commit cannot be written: \(error)", error)
        }
    }
}
