internal import AdminProtocol
internal import ArgumentParser
package import AuditLog
internal import RemotePINServer
internal import Vault
package import Vocabulary

/// A recovery code or its MAC as shown in the deny list: `{"code":"…"}` or `{"mac":"…"}`, in hexadecimal digits.
package enum DeniedName: Codable, Hashable, Sendable {
    case code(RecoveryCode)
    case mac(RecoveryCodeMAC)

    private enum CodingKeys: CodingKey { case code, mac }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let mac = try container.decodeIfPresent(RecoveryCodeMAC.self, forKey: .mac) {
            self = .mac(mac)
        } else {
            self = .code(try container.decode(RecoveryCode.self, forKey: .code))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .code(let code): try container.encode(code, forKey: .code)
        case .mac(let mac): try container.encode(mac, forKey: .mac)
        }
    }

    /// Returns the MAC that represents the code in the store.
    func mac(in service: AdminService) throws(AdminFailure) -> RecoveryCodeMAC {
        switch self {
        case .mac(let mac): return mac
        case .code(let code):
            let bytes = service.server.vault.mac(code.bytes, for: .recoveryCodeIndex)
            guard let mac = RecoveryCodeMAC(bytes) else {
                throw AdminFailure(.internal, "The vault's MAC has \(bytes.count) bytes instead of 32.")
            }
            return mac
        }
    }
}

/// A command about one recovery code, given as the code or its MAC.
package protocol DeniedNameCall: AdminCall {
    var code: DeniedName { get }

    init(_ code: DeniedName)
}

extension DeniedNameCall {
    package init(from decoder: any Decoder) throws { self.init(try DeniedName(from: decoder)) }
    package func encode(to encoder: any Encoder) throws { try self.code.encode(to: encoder) }

    package func withSubject(
        in service: AdminService,
        _ body: (AuditSubject) async throws -> Reply
    ) async throws -> Reply {
        try await body(AuditSubject(recoveryCode: try self.code.mac(in: service)))
    }
}

/// Options that specify a recovery code or its MAC.
struct DeniedNameOptions: ParsableArguments {
    @OptionGroup var code: RecoveryCodeOptions

    @Option(
        help: ArgumentHelp("The code's MAC as the list shows it, instead of the code.", valueName: "mac"),
        transform: { text in
            guard let mac = RecoveryCodeMAC(hex: text) else {
                throw ValidationError("`\(text)` is not a MAC: 64 hexadecimal digits, as the list shows them.")
            }
            return mac
        }
    )
    var mac: RecoveryCodeMAC?

    func validate() throws {
        guard self.mac == nil || self.code.isEmpty else { throw ValidationError("Give the code or its MAC, not both.") }
    }

    func read() throws -> DeniedName {
        if let mac { return .mac(mac) }
        return .code(try self.code.read())
    }
}
