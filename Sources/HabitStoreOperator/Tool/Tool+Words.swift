import HabitStore

/// What help texts say of the tool.
extension Tool {
    /// The name, to be typed.
    package static var name: String { OperatorCommand.name }

    /// What the environment's variables begin with.
    package static var environment: String { CommandName.environment(of: name) }

    /// The schema's entities: `Habit, Entry, Tag or Draft`.
    static var entities: String {
        let names = current.schema.entities.map(\.name)
        guard let last = names.last, names.count > 1 else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }
}
