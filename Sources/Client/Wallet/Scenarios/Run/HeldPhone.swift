internal import SimulatedPhone
internal import Phone
internal import Vocabulary
internal import WalletCore
internal import WalletFlows

/// A phone of a scenario: the app on it, and what a tester would have noted of it.
final class HeldPhone {
    let name: String
    let fate = MortalDisk.Fate()
    let ear: Ear
    let phone: Phone
    /// Of the wallet that is or was on it last; a wiped one is still asked for at the server.
    private(set) var walletID: WalletID?

    init(_ name: String, folder: String, settings: WalletSettings, profile: DeviceProfile) throws(PhoneError) {
        self.name = name
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
    func restore(_ change: DeviceChange) async throws(StepProblem) {
        await self.phone.endProcess()
        do {
            var profile = self.phone.device.profile
            try change.apply(to: &profile)
            let changed = profile
            try self.phone.device.moveToAnotherPhone { $0 = changed }
        } catch {
            throw .failed("the app cannot be restored to such a phone: \(error)")
        }
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
            Phone.Behavior(skipsSplash: true),
            between: Phone.Between(disk: { MortalDisk($0, fate) }, device: { MortalDevice($0, fate) }),
            observer: { ear.hear($0) }
        )
    }
}
