internal import DeviceInterface
package import Phone
internal import Vocabulary

/// The status line of a phone, and whether the app is in the foreground.
package struct PhoneStatus: Hashable, Sendable {
    /// The phone's operating system, such as `Android 16`.
    let system: String
    /// Short status messages, such as `no network`.
    let states: [String]
    let place: Picture.Place
    let words: FrameWords

    package init(_ phone: Phone, isLocked: Bool) async {
        let device: any Device = phone.device
        let name = device.platform == .iOS ? "iOS" : "Android"
        self.system = "\(name) \(device.osVersion)"
        var states: [String] = []
        if device.isRooted { states.append("rooted") }
        if !device.hasNetwork { states.append("no network") }
        states.append(isLocked ? "locked" : "unlocked")
        let words = FrameWords(language: await phone.language)
        self.words = words
        self.states = states.map { words($0) }
        let isRunning = await phone.isRunning
        let isInFront = await phone.isInFront
        self.place = isInFront ? .inFront : isRunning ? .background : .ended
    }
}
