internal import HostSystem
internal import Logging
internal import Metrics
internal import OperatorChannels
internal import ServerSettings
internal import StoreMaintenance
internal import WalletStore

extension Witness {
    /// Returns the generation and step on record with the witness, or nil if there is none.
    static func recorded(_ settings: ServerSettings) async throws -> (generation: UInt64, step: UInt64)? {
        guard let witness = Self(settings) else { return nil }
        do throws(WitnessSilence) {
            let record = try await witness.note(WitnessNumbers(generation: 0, step: 0))
            return (record.generation ?? 0, record.step ?? 0)
        } catch {
            guard !settings[SettingTable.witnessRequired] else {
                throw StartFailure(.unavailable, "\(WitnessFailure.silent(error.description))")
            }
            StandardStreams.writeError(
                "the witness does not answer (\(error)); a start will reject the restored store\n"
            )
            return nil
        }
    }
}

extension WitnessKeeper {
    /// Asks the witness whether the store is an older copy; returns nil if no witness is configured.
    static func started(
        _ settings: ServerSettings,
        of store: any ServedStore,
        log: Logger,
        metrics: any MetricsFactory
    ) async throws -> WitnessKeeper? {
        let meters = WitnessMeters(metrics)
        // A witness is supported only for the SQLite store.
        guard let witness = Witness(settings, messages: .logged("message of the witness", in: log)),
            let store = store as? SQLiteWalletStore
        else { return nil }
        let keeper = WitnessKeeper(
            witness: witness,
            isRequired: settings[SettingTable.witnessRequired],
            interval: settings[SettingTable.witnessInterval],
            generation: { store.generation },
            step: { try await store.witnessStep() },
            raiseStep: { try await store.raiseWitnessStep() },
            log: log,
            meters: meters
        )
        do throws(WitnessFailure) {
            try await keeper.start()
        } catch {
            switch error {
            case .ahead: throw StartFailure(.operatorMustAct, "\(error). \(OlderStore.wayOut)")
            case .silent: throw StartFailure(.unavailable, "\(error)")
            }
        }
        return keeper
    }
}
