internal import DeviceInterface
internal import Vocabulary

/// A scene and the transitions for its choices, defined in one place.
///
/// A choice cannot be offered without a transition, so flows never need to switch over ``ActionID``. The transitions
/// are created when the scene is shown. A decision that depends on a later snapshot must be made in the entry action of
/// a state instead.
struct Dialog: Sendable {
    var scene: Scene
    private(set) var transitions: [ActionID: Transition] = [:]
    /// The transition to perform when the scene's timer expires.
    private(set) var timeout: Transition?
    /// The transition to perform when the app comes back to the scene, or nil to show the scene as it is.
    private(set) var resumption: Transition?

    init(_ step: StepID, _ kind: Screen.Kind, _ title: Text, _ message: Text? = nil) {
        self.scene = Scene(step: step, kind: kind, title: title, message: message)
    }

    /// Creates a system prompt with the app's texts.
    static func prompting(_ prompt: Prompt, at step: StepID, _ snapshot: Snapshot) -> Dialog {
        let text = Text.promptAccepts(prompt.accepts, snapshot.biometrics)
        return Dialog(step, .osPrompt, .prompt(prompt.purpose), text).changed { $0.scene.prompt = prompt }
    }

    func offering(_ action: ActionID, _ step: StepID, _ transition: Transition) -> Dialog {
        self.changed { dialog in
            dialog.scene.choices.append(Scene.Choice(id: action, step: step))
            dialog.transitions[action] = transition
        }
    }

    /// Offers Help, which always leads to the same placeholder.
    func offeringHelp(_ step: StepID) -> Dialog {
        self.offering(.help, step, .call(UnderConstruction(step: step)))
    }

    /// Offers UC9.2.
    func offeringInfo(_ step: StepID) -> Dialog {
        self.offering(.info, step, .call(AppInformation()))
    }

    /// Asks for the PIN, and announces the last attempt before a block.
    func askingPIN(_ step: StepID, _ snapshot: Snapshot) -> Dialog {
        self.changed { dialog in
            dialog.scene.input = Scene.Input(step: step)
            guard case .open(attemptsLeft: 1, finalRound: let isFinal) = snapshot.pinState,
                let request = dialog.scene.message,
                isFinal || !snapshot.policy.blocks.isEmpty
            else { return }
            dialog.scene.message = .lastAttempt(request, isFinal: isFinal)
            dialog.scene.values += [.attemptsLeft(1), .finalRound(isFinal)]
        }
    }

    /// Asks for a new PIN.
    func askingNewPIN(_ step: StepID) -> Dialog {
        self.changed { $0.scene.input = Scene.Input(step: step) }
    }

    func with(_ values: Scene.Value...) -> Dialog {
        self.changed { $0.scene.values += values }
    }

    func ending(_ end: Scene.Timer.End, _ step: StepID, _ transition: Transition) -> Dialog {
        self.changed { dialog in
            dialog.scene.timer = Scene.Timer(step: step, end: end)
            dialog.timeout = transition
        }
    }

    func resuming(_ transition: Transition) -> Dialog {
        self.changed { $0.resumption = transition }
    }

    func because(_ obstacle: Obstacle) -> Dialog {
        self.changed { $0.scene.obstacle = obstacle }
    }

    private func changed(_ change: (inout Dialog) -> Void) -> Dialog {
        var dialog = self
        change(&dialog)
        return dialog
    }
}
