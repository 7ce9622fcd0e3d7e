internal import AdminProtocol
internal import RemotePINServer
package import WalletStore

// Several servers on one store. Every command works at each of them, and its reply names the server that gave it.
extension AdminService {
    /// This server's name and the servers with a lease; nil for an embedded store.
    var cluster: ClusterView? {
        self.server.lease.map { ClusterView(server: $0.server, servers: $0.servers) }
    }

    /// This server's name among those of its store; nil for an embedded store.
    var serverName: String? { self.server.lease?.server }

    /// Returns after every server has acknowledged the revocations committed so far, or has lost its lease; nil for an
    /// embedded store.
    func acknowledgements() async throws(AdminFailure) -> Acknowledgements? {
        guard let lease = self.server.lease else { return nil }
        do throws(StoreError) {
            return try await lease.acknowledgements()
        } catch {
            throw AdminFailure(
                .unavailable,
                "It is done and remains done, but the database does not answer, so other servers may not have closed "
                    + "their open sessions yet. Repeat the command."
            )
        }
    }
}

/// The servers of a store, as one of them knows them.
package struct ClusterView: Codable, Hashable, Sendable {
    /// The server that gave the reply, for which all other figures are.
    package var server: String
    /// The servers with a lease, this one among them.
    package var servers: [LeasedServer]

    /// The names of the other servers.
    var others: [String] { self.servers.map(\.name).filter { $0 != self.server } }
    /// The number of open sessions at all servers.
    package var sessions: Int { self.servers.reduce(0) { $0 + $1.sessions } }
    /// The number of open connections at all servers.
    package var connections: Int { self.servers.reduce(0) { $0 + $1.connections } }

    /// One line for operators.
    var text: String {
        let others = self.servers.map { server in
            let task = server.hasMaintenance ? ", maintenance" : ""
            return "\(server.name) (\(server.sessions) sessions, \(server.program)\(task))"
        }
        return "\(self.server), of \(self.servers.count) live: \(others.joined(separator: ", ")); "
            + "\(self.sessions) sessions on \(self.connections) connections at all of them"
    }
}

extension Acknowledgements {
    /// One line for operators.
    var text: String {
        let ended = self.ended.isEmpty ? "" : "; without a lease, so releasing nothing: "
        return
            "acknowledged by \(self.acknowledged.joined(separator: ", "))\(ended)\(self.ended.joined(separator: ", "))"
    }
}
