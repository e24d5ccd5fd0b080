import HabitStore

/// The words with which help texts describe the tool.
extension Tool {
    /// The name to type.
    package static var name: String { OperatorCommand.name }

    /// The prefix of the environment variables.
    package static var environment: String { CommandName.environment(of: name) }

    /// The schema's entities: `Habit, Entry, Tag or Draft`.
    static var entities: String {
        let names = current.schema.entities.map(\.name)
        guard let last = names.last, names.count > 1 else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }
}
