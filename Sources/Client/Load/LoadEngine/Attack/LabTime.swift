internal import LabFiles
internal import LoadFleet
internal import Transport
internal import Vocabulary
internal import Wire

/// Moves the clock of a lab whose server runs.
enum LabTime {
    private static let patience: Duration = .seconds(30)

    /// The server does it, which alone writes the clock's file while it runs.
    static func advance(_ lab: LabFolder, by duration: Duration, at target: Target) async throws(RunError) {
        let socket: String
        do throws(LabError) {
            socket = try lab.adminSocket()
        } catch {
            throw .target(.lab(error))
        }
        let failure: FleetFailure
        do {
            let connection = try await AdminConnection.connect(path: socket, timeout: Self.patience)
            defer { connection.close() }
            if case .clockAdvanced = try await connection.call(.advanceClock(by: duration), timeout: Self.patience) {
                return
            }
            failure = .unexpectedAnswer
        } catch let error as ConnectError {
            failure = .connect(error)
        } catch let error as CallError {
            failure = .call(error)
        } catch {
            failure = .unexpectedAnswer
        }
        throw .server(failure, address: socket)
    }
}
