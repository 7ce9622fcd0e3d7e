internal import ConfigText
internal import HostSystem
internal import SimulatedPhone

/// Renders a run's screens as an asciinema recording (format 2) with one frame per step.
package enum CastReport {
    private static let size = TerminalSize(columns: 62, rows: 22)
    /// The time for which each frame is shown.
    ///
    /// Actual steps only take milliseconds.
    private static let timePerFrame = Duration.milliseconds(1200)

    /// Returns the text of the recording: a header followed by one line per frame.
    package static func text(_ results: [ScenarioResult]) -> String {
        let title = results.count == 1 ? results[0].name : "\(results.count) scenarios"
        var lines = [
            "{\"version\": 2, \"width\": \(self.size.columns), \"height\": \(self.size.rows), "
                + "\"title\": \(JSONText.quoted(title))}"
        ]
        var painter = Painter(Palette(hasUnicode: true, hasColor: true, hasControl: true))
        var frame = 0
        for result in results {
            for step in result.steps {
                var picture = step.picture
                let failed = step.outcome == .failed ? "FAILED: " : ""
                picture.note = "\(result.caseID) \(step.line): \(failed)\(step.text)"
                lines.append(Self.frame(frame, painter.paint(picture, self.size)))
                frame += 1
            }
        }
        // Add a final frame so that players show the last step as long as the others.
        lines.append(Self.frame(frame, ""))
        return lines.joined(separator: "\n") + "\n"
    }

    private static func frame(_ number: Int, _ text: String) -> String {
        "[\((self.timePerFrame * number).secondsText), \"o\", \(JSONText.quoted(text))]"
    }
}
