internal import Devices
internal import Foundation
internal import Phone
internal import Vocabulary
internal import WalletCore
internal import WalletFlows

/// A phone of a scenario: the app on it, and what a tester would have noted of it.
final class HeldPhone {
    let name: String
    let fate = MortalDisk.Fate()
    let ear: Ear
    private(set) var phone: Phone
    /// Of the wallet that is or was on it last; a wiped one is still asked for at the server.
    private(set) var walletID: WalletID?
    private let settings: WalletSettings

    init(_ name: String, folder: String, settings: WalletSettings, profile: DeviceProfile) throws(PhoneError) {
        self.name = name
        self.settings = settings
        self.ear = Ear(self.fate)
        self.phone = try Self.phone(PhoneHome("\(folder)/\(name)"), settings, profile, self.fate, self.ear)
    }

    /// After each thing that happened to it: a process that has died is ended, and the wallet's id noted.
    func settle() async {
        if self.fate.isDead {
            await self.phone.endProcess()
            self.fate.revive()
        }
        if let walletID = await self.phone.walletID { self.walletID = walletID }
    }

    /// Another phone with the app's data of this one: its hardware and keychain know nothing of it.
    func restore(to profile: DeviceProfile) async throws(PhoneError) {
        await self.phone.endProcess()
        let home = self.phone.home
        do {
            try FileManager.default.removeItem(atPath: home.deviceFolder)
        } catch {
            throw .storage("the other phone cannot be made: \(error)")
        }
        self.phone = try Self.phone(home, self.settings, profile, self.fate, self.ear)
    }

    private static func phone(
        _ home: PhoneHome,
        _ settings: WalletSettings,
        _ profile: DeviceProfile,
        _ fate: MortalDisk.Fate,
        _ ear: Ear
    ) throws(PhoneError) -> Phone {
        try Phone(
            home,
            settings,
            new: profile,
            skipsSplash: true,
            disk: { MortalDisk($0, fate) },
            observer: { ear.hear($0) }
        )
    }
}
