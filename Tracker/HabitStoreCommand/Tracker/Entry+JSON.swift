import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker

extension Entry {
    /// The entry as JSON, with its habit's name if it has a habit.
    func json(habitName: String?) -> JSON {
        var members: [String: JSON] = [
            "id": .string(id.uuidString),
            "habitID": .optional(habitID),
            "habit": .optional(habitName),
            "note": .optional(note),
            "value": .optional(value),
        ]
        members.set("date", date)
        return .object(members)
    }

    /// The value with the habit's unit, for people.
    func valueText(unit: String?) -> String {
        guard let value else { return "" }
        return (value == value.rounded() && value.magnitude < 1e15 ? String(Int(value)) : String(value))
            + (unit.map { " \($0)" } ?? "")
    }
}
