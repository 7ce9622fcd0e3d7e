import Foundation
import Secrets
import Statements
import TestSupport
import Testing
import Vocabulary

/// The parts of docs/protocol-vectors.json that concern this target.
struct ProtocolVectors: Decodable {
    struct PINKey: Decodable {
        let pin, salt, wide, private_key, public_key: String
    }
    struct Scalar: Decodable {
        let name, wide, private_key: String
    }
    struct Signed: Decodable {
        let purpose, channel_binding, wallet_id, counter, body, bytes, sha256, public_key, signature: String
    }
    struct Slot: Decodable {
        let pin, salt, wallet_id, part, unlock_share, pin_slot_key: String
        let keychain_item, presence_share, biometric_slot_key, check_value: String
    }
    struct Code: Decodable {
        let typed: String
        let code: String?
    }

    let pin_keys: [PINKey]
    let scalars: [Scalar]
    let statements: [Signed]
    let slot_keys: [Slot]
    let deletion_codes: [Code]

    static func load() throws -> ProtocolVectors {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/protocol-vectors.json")
        return try JSONDecoder().decode(ProtocolVectors.self, from: Data(contentsOf: file))
    }
}

@Suite("The protocol's vectors, from an independent implementation")
struct ProtocolVectorsTests {
    let vectors: ProtocolVectors

    init() throws { self.vectors = try ProtocolVectors.load() }

    @Test("a salt and a PIN determine the private and the public key")
    func pinKeys() throws {
        #expect(self.vectors.pin_keys.count >= 4)
        for vector in self.vectors.pin_keys {
            let salt = SecretBytes(copying: try Self.bytes(vector.salt))
            guard let pin = PIN(copying: Array(vector.pin.utf8)) else { throw SignatureTests.NoPIN() }
            let wide = pin.keyMaterial(salt: salt).hkdfSHA256(info: Array("remote-pin/1 pin key".utf8), count: 48)
            let scalar = wide.p256PrivateScalar().exposedBytes().hex
            let publicKey = PINKey(pin: pin, salt: salt).publicKey
            #expect(wide.exposedBytes().hex == vector.wide)
            #expect(scalar == vector.private_key)
            #expect(publicKey.description == vector.public_key)
        }
    }

    @Test("48 bytes are reduced to a number from 1 to q − 1, also at the limits")
    func scalars() throws {
        #expect(self.vectors.scalars.count >= 6)
        for vector in self.vectors.scalars {
            let scalar = SecretBytes(copying: try Self.bytes(vector.wide)).p256PrivateScalar().exposedBytes().hex
            #expect(scalar == vector.private_key, "\(vector.name)")
        }
    }

    @Test("the signed bytes, their digest and a signature of them match")
    func statements() throws {
        #expect(Set(self.vectors.statements.map(\.purpose)) == Set(Purpose.allCases.map(\.rawValue)))
        for vector in self.vectors.statements {
            let statement = Statement(
                try #require(Purpose(rawValue: vector.purpose)),
                channelBinding: try #require(ChannelBinding(hex: vector.channel_binding)),
                walletID: try #require(WalletID(hex: vector.wallet_id)),
                counter: try #require(UInt64(vector.counter)),
                body: try Self.bytes(vector.body)
            )
            #expect(statement.bytes.hex == vector.bytes)
            #expect(statement.digest.description == vector.sha256)
            let publicKey = try #require(P256PublicKey(hex: vector.public_key))
            let key = try #require(VerifyingKey(publicKey))
            let signature = try #require(P256Signature(hex: vector.signature))
            #expect(key.isValid(signature, for: statement))
        }
    }

    @Test("the slot keys and the check value match")
    func slotKeys() throws {
        #expect(self.vectors.slot_keys.count >= 2)
        for vector in self.vectors.slot_keys {
            guard let pin = PIN(copying: Array(vector.pin.utf8)) else { throw SignatureTests.NoPIN() }
            let wallet = try #require(WalletID(hex: vector.wallet_id))
            let unlock = try #require(Share(copying: Self.bytes(vector.unlock_share)))
            let presence = try #require(Share(copying: Self.bytes(vector.presence_share)))
            let part = SlotKeys.part(pin: pin, salt: SecretBytes(copying: try Self.bytes(vector.salt)))
            let partHex = part.exposedBytes().hex
            #expect(partHex == vector.part)
            let pinSlot = SlotKeys.pinSlot(part: part, share: unlock, walletID: wallet).exposedBytes().hex
            #expect(pinSlot == vector.pin_slot_key)
            let item = SecretBytes(copying: try Self.bytes(vector.keychain_item))
            let biometricSlot = SlotKeys.biometricSlot(item: item, share: presence, walletID: wallet).exposedBytes().hex
            #expect(biometricSlot == vector.biometric_slot_key)
            #expect(SlotKeys.checkValue(share: unlock).hex == vector.check_value)
        }
    }

    @Test("a deletion code parses to the same code in every spelling")
    func deletionCodes() {
        #expect(self.vectors.deletion_codes.count >= 10)
        for vector in self.vectors.deletion_codes {
            #expect(DeletionCode(vector.typed)?.characters == vector.code, "\(vector.typed)")
        }
    }

    private static func bytes(_ hex: String) throws -> [UInt8] { try #require([UInt8](hex: hex)) }
}
