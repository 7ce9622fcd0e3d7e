/// The failures that a committed change must survive.
package enum Durability: String, Hashable, Sendable {
    /// Loss of the machine: a named standby must have the change before it counts.
    case replicated
    /// Only a crash of the machine.
    ///
    /// For a database without standbys.
    case local
}

/// The database settings that the meaning of a commit depends on.
///
/// Invariant: no answer relies on a commit made under settings that can lose it. Every batch and every transaction
/// returns the settings, since an administrator or a cluster manager may change them at any time: Patroni up to 4.1.5
/// falls back to `synchronous_standby_names = '*'` in strict mode, which counts any client that streams the log as a
/// standby. 
struct DurabilitySettings: Hashable {
    /// An SQL expression that returns all of them as one text.
    static let expression = """
        concat_ws('|', current_setting('synchronous_commit'), current_setting('fsync'),
            current_setting('full_page_writes'), current_setting('client_min_messages'), pg_is_in_recovery(),
            current_setting('synchronous_standby_names'))
        """

    private let fields: [Substring]

    /// Parses the result of ``expression``; returns nil for any other text.
    init?(_ text: String) {
        self.fields = text.split(separator: "|", maxSplits: 5, omittingEmptySubsequences: false)
        guard self.fields.count == 6 else { return nil }
    }

    /// The names of the standbys that a commit waits for, empty if it waits for none.
    var standbyNames: String { String(self.fields[5].trimmingSpaces) }

    /// The number of standbys that a commit waits for: n in `FIRST n (…)`, `ANY n (…)` and `n (…)`, and otherwise 1.
    ///
    /// Source: PostgreSQL's documentation of `synchronous_standby_names`.
    var standbyCount: Int {
        let names = self.standbyNames
        guard !names.isEmpty else { return 0 }
        guard let open = names.firstIndex(of: "(") else { return 1 }
        return names[..<open].split(separator: " ").last.flatMap { Int($0) } ?? 1
    }

    /// The settings of the server by name, for operators.
    var named: [(name: String, value: String)] {
        let names = ["synchronous_commit", "fsync", "full_page_writes", "client_min_messages"]
        return zip(names, self.fields).map { ($0, String($1)) } + [("synchronous_standby_names", self.standbyNames)]
    }

    /// Returns the first setting that could cause a commit to be lost, with its remedy, or nil if all settings are
    /// safe.
    func problem(for durability: Durability) -> String? {
        let commit = self.fields[0]
        switch durability {
        case .replicated:
            guard commit == "on" || commit == "remote_apply" else {
                return "synchronous_commit is \(commit); set it to on or remote_apply"
            }
            let names = self.standbyNames
            guard !names.isEmpty else {
                return "synchronous_standby_names is empty, so a commit does not wait for a standby; name the standbys"
            }
            guard !names.contains("*") else {
                return "synchronous_standby_names is \(names), which any client can match; name the standbys"
            }
        case .local:
            guard commit != "off" else { return "synchronous_commit is off; set it to on" }
        }
        if self.fields[1] != "on" { return "fsync is \(self.fields[1]); set it to on" }
        if self.fields[2] != "on" { return "full_page_writes is \(self.fields[2]); set it to on" }
        guard ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning"].contains(self.fields[3])
        else {
            return "client_min_messages is \(self.fields[3]), which hides that a commit did not wait; set it to warning"
        }
        if self.fields[4] != "f" { return "the database is a standby; name the primary, or several hosts" }
        return nil
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = self.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return text
    }
}
