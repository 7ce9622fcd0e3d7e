package import AttestationVerifier
internal import Synchronization
package import HostSystem
internal import Vocabulary

/// A file with Google's status list, which an operator replaces while the server is running.
///
/// An unreadable list never replaces a readable one, because an attacker who corrupts the file must not be able to
/// rehabilitate revoked devices. The file's modification time serves as the fetch time, so touching the file renews a
/// list that has not changed.
package final class StatusListFile: Sendable {
    /// The result of rereading the file.
    package enum Refresh: Sendable {
        /// The file has not changed since it was last read or rejected.
        case unchanged
        case loaded(StatusList)
        case refused(StatusListProblem)
    }

    private struct State {
        var list: StatusList
        /// The modification time when the file was last read, successfully or not, or nil if it could not be
        /// determined.
        var seen: Int64?
    }

    /// The maximum length in bytes, several times the length of Google's list.
    private static let longest = 16 << 20

    private let path: String
    private let state: Mutex<State>

    /// Reads the file.
    package init(path: String) throws(StatusListProblem) {
        let (list, changed) = try Self.read(path)
        self.path = path
        self.state = Mutex(State(list: list, seen: changed))
    }

    /// The last list that was read successfully.
    package var current: StatusList { self.state.withLock(\.list) }

    /// Reads the file again if it has changed, or if `forced` is true.
    package func refresh(forced: Bool = false) -> Refresh {
        self.state.withLock { state in
            let changed = try? DurableFile.changeTime(of: self.path)
            guard forced || changed != state.seen else { return .unchanged }
            state.seen = changed
            do throws(StatusListProblem) {
                (state.list, state.seen) = try Self.read(self.path)
                return .loaded(state.list)
            } catch {
                return .refused(error)
            }
        }
    }

    private static func read(_ path: String) throws(StatusListProblem) -> (StatusList, Int64?) {
        // Get the time first: if the file is written in between, it is then read again the next time.
        let changed = try mapError(DurableFile.changeTime(of: path), to: StatusListProblem.file)
        let json = try mapError(DurableFile.read(path, atMost: Self.longest), to: StatusListProblem.file)
        guard let list = StatusList(json: json, fetched: Timestamp(milliseconds: changed / 1_000_000)) else {
            throw .notAList(path)
        }
        return (list, changed)
    }
}

/// The reason a status list was rejected, for the operator.
package enum StatusListProblem: Error, Hashable, CustomStringConvertible {
    case file(FileError)
    /// The file is not Google's status list.
    ///
    /// Fetch the list again.
    case notAList(String)

    package var description: String {
        switch self {
        case .file(let error): error.description
        case .notAList(let path):
            "\(path) is not Google's status list: UTF-8 without a byte order mark, an object `entries`, and in it for "
                + "each serial number in hexadecimal an object with a `status`"
        }
    }
}
