internal import AdminProtocol
internal import HostSystem
internal import LabFiles
internal import LoadFleet
internal import Transport
internal import Vocabulary

/// Advances a lab's clock while its server is running.
enum LabTime {
    private static let patience: Duration = .seconds(30)

    private struct Reply: Decodable {
        let now: Timestamp
    }

    /// Asks the server to advance the clock.
    ///
    /// Only the server may write the clock file while it is running.
    static func advance(_ lab: LabFolder, by duration: Duration, at target: Target) async throws(RunError) {
        let socket = try mapError(lab.adminSocket()) { (error: LabError) in RunError.target(.lab(error)) }
        let failure: FleetFailure
        do {
            let connection = try await AdminConnection.connect(path: socket, timeout: Self.patience)
            defer { connection.close() }
            let _: Reply = try await connection.call(
                "clock advance",
                ["byMs": duration.milliseconds],
                timeout: Self.patience
            )
            return
        } catch let error as ConnectError {
            failure = .connect(error)
        } catch AdminCallError.connection(let error) {
            failure = .call(error)
        } catch {
            failure = .unexpectedAnswer
        }
        throw .server(failure, address: socket)
    }
}
