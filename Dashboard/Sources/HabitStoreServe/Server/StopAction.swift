import Foundation
import HabitStore
import HabitStoreFleet

/// The actions on the page.
enum StopAction: String, CaseIterable, Sendable {
    case pause, halt, resume, kill

    /// The texts of an action's form.
    struct Words {
        let title: String
        let what: String
        let button: String
        /// The message after the action.
        let done: String
        /// The message if nothing had to be done.
        let before: String
    }

    var words: Words {
        switch self {
        case .pause:
            Words(
                title: "Pause",
                what: "Begins with nobody from now on; who is on the way is brought there.",
                button: "Pause the fleet",
                done: "Paused.",
                before: "It was paused before."
            )
        case .halt:
            Words(
                title: "Halt",
                what: "Moves nobody any more, at once. Users stay where they are.",
                button: "Halt the fleet",
                done: "Halted.",
                before: "It was halted before."
            )
        case .resume:
            Words(
                title: "Let go on",
                what: "Takes a pause or a halt away. Differences that were found before count as seen to.",
                button: "Let the fleet go on",
                done: "It may go on.",
                before: "Nothing had stopped it."
            )
        case .kill:
            Words(
                title: "Kill",
                what:
                    "Takes everybody back to the old store, and keeps them there until somebody re-arms from a terminal. Programs that "
                    + "have stores open act by themselves; \(OperatorCommand.name) rollout kill takes back who is at rest.",
                button: "Kill: everybody back",
                done: "The kill switch is pulled.",
                before: "The kill switch was pulled before."
            )
        }
    }

    /// Performs the action.
    ///
    /// - Returns: the message.
    /// - Throws: why nothing was done.
    func perform(_ fleet: Fleet, by person: String, because reason: String) throws -> String {
        switch self {
        case .pause: return try fleet.pause(by: person, because: reason) ? words.done : words.before
        case .halt: return try fleet.halt(by: person, because: reason) ? words.done : words.before
        case .resume: return try fleet.resume(by: person, because: reason) ? words.done : words.before
        case .kill:
            let kill = try fleet.kill(by: person, because: reason)
            let said = kill.isNew ? words.done : words.before
            return said + (kill.unrecorded.map { " The ledger does not tell of it: \($0)" } ?? "")
        }
    }
}
