internal import DeviceInterface
package import Phone
internal import Vocabulary
package import WalletFlows

/// The status line of a phone, and whether the app is in the foreground.
package struct PhoneStatus: Hashable, Sendable {
    /// The phone's operating system, such as `Android 16`.
    let system: String
    /// Short status messages, such as `no network`.
    let states: [String]
    let place: Picture.Place
    let words: FrameWords

    /// - Parameter language: The language of the words, or nil for that of the app's next process.
    package init(_ phone: Phone, isLocked: Bool, in language: Wording.Language? = nil) async {
        let device: any Device = phone.device
        let name = device.platform == .iOS ? "iOS" : "Android"
        self.system = "\(name) \(device.osVersion)"
        var states: [String] = []
        if device.isRooted { states.append("rooted") }
        if !device.hasNetwork { states.append("no network") }
        states.append(isLocked ? "locked" : "unlocked")
        let current = await phone.language
        let words = FrameWords(language: language ?? current)
        self.words = words
        self.states = states.map { words($0) }
        let isRunning = await phone.isRunning
        let isInFront = await phone.isInFront
        self.place = isInFront ? .inFront : isRunning ? .background : .ended
    }
}
