package import AttestationVerifier
internal import Synchronization
package import HostSystem
internal import Vocabulary

/// The file of Google's status list, which an operator replaces while the server runs.
///
/// A list that cannot be read never takes the place of one that could: whoever spoils the file must not bring revoked
/// devices back. The file's change time stands for the time of fetching, so a list that is fetched again unchanged
/// counts as new when the file is touched.
package final class StatusListFile: Sendable {
    /// What came of looking at the file.
    package enum Refresh: Sendable {
        /// It is the one that was read, or the one that was refused before.
        case unchanged
        case loaded(StatusList)
        case refused(StatusListProblem)
    }

    private struct State {
        var list: StatusList
        /// The file as it was last looked at, good or bad; nil where it could not be looked at.
        var seen: Int64?
    }

    /// Several times what Google publishes.
    private static let longest = 16 << 20

    private let path: String
    private let state: Mutex<State>

    /// Reads the file.
    package init(path: String) throws(StatusListProblem) {
        let (list, changed) = try Self.read(path)
        self.path = path
        self.state = Mutex(State(list: list, seen: changed))
    }

    /// The last list that could be read.
    package var current: StatusList { self.state.withLock(\.list) }

    /// Reads the file again if it has changed, or in any case.
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
        let (changed, json): (Int64, [UInt8])
        do throws(FileError) {
            // The time first: what is written in between is read again at the next look.
            changed = try DurableFile.changeTime(of: path)
            json = try DurableFile.read(path, atMost: Self.longest)
        } catch {
            throw .file(error)
        }
        guard let list = StatusList(json: json, fetched: Timestamp(milliseconds: changed / 1_000_000)) else {
            throw .notAList(path)
        }
        return (list, changed)
    }
}

/// Why a status list was not taken; tell the operator.
package enum StatusListProblem: Error, Hashable, CustomStringConvertible {
    case file(FileError)
    /// Fetch it anew.
    case notAList(String)

    package var description: String {
        switch self {
        case .file(let error): error.description
        case .notAList(let path): "\(path) is not Google's status list"
        }
    }
}
