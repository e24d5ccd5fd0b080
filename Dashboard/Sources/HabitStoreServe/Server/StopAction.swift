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
                what: "Starts no new users, and finishes those in progress.",
                button: "Pause the fleet",
                done: "Paused.",
                before: "It was paused already."
            )
        case .halt:
            Words(
                title: "Halt",
                what: "Stops all moves immediately. Users stay where they are.",
                button: "Halt the fleet",
                done: "Halted.",
                before: "It was halted already."
            )
        case .resume:
            Words(
                title: "Resume",
                what:
                    "Ends a pause or a halt. This refutes no difference: the next run halts again until a complete verification finds the stores equal.",
                button: "Resume the fleet",
                done: "Resumed.",
                before: "It was neither paused nor halted."
            )
        case .kill:
            Words(
                title: "Kill",
                what:
                    "Takes everybody back to the old store, and keeps them there until the switch is re-armed from a terminal. Programs that "
                    + "have stores open take their users back; \(OperatorCommand.name) rollout kill takes back the others.",
                button: "Kill: everybody back",
                done: "The kill switch is pulled.",
                before: "The kill switch was pulled already."
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
            return said + (kill.unrecorded.map { " It is not in the ledger: \($0)" } ?? "")
        }
    }
}
