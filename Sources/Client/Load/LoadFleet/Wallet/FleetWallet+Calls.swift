internal import Evidence
internal import Lab
internal import Statements
internal import Transport
internal import Vocabulary
internal import Wire

extension FleetWallet {
    /// Creates a complete OpenSession call for a connection.
    ///
    /// On iOS, it uses a new counter, which is first written to the file.
    func sessionCall(
        _ facts: DeviceFacts,
        of fleet: Fleet,
        on connection: ClientConnection
    ) throws(FleetFailure) -> OpenSession {
        let body = OpenSessionBody(appVersion: facts.appVersion, osVersion: facts.osVersion).encoded()
        let statement = Statement(
            .session,
            channelBinding: connection.channelBinding,
            walletID: self.walletID,
            body: body
        )
        let counter = self.platform == .iOS ? try fleet.takeCounter(of: self) : 0
        let proof = Self.proof(
            by: self.keys.hardwareKey(of: self.walletID),
            self.platform,
            of: statement,
            counter: counter
        )
        return OpenSession(walletID: self.walletID, body: body, deviceProof: proof)
    }

    /// Returns the hardware's proof for a statement: a signature on Android, or an assertion with its counter on iOS.
    static func proof(
        by key: SigningKey,
        _ platform: Platform,
        of statement: Statement,
        counter: UInt32
    ) -> DeviceProof {
        let bytes: [UInt8]
        switch platform {
        case .android: bytes = key.signature(for: statement.bytes).bytes
        case .iOS:
            bytes = AppAttestKey(key, appID: LabApp.iOSAppID).assertion(for: statement.digest, counter: counter).encoded
        }
        guard let proof = DeviceProof(bytes) else { preconditionFailure("a proof has fewer than 1024 bytes") }
        return proof
    }
}

extension DeviceFacts {
    /// Returns a Hello with these facts.
    func hello(_ platform: Platform) -> Hello {
        Hello(appVersion: self.appVersion, platform: platform, osVersion: self.osVersion)
    }
}

extension ClientConnection {
    /// Sends calls in a single flight and converts the error.
    func flight(_ calls: [Call], timeout: Duration) async throws(FleetFailure) -> [CallResult] {
        do throws(CallError) {
            return try await self.call(calls, timeout: timeout)
        } catch {
            throw .call(error)
        }
    }
}
