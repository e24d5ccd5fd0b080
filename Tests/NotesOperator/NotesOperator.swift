import ArgumentParser
import HabitStore
import HabitStoreOperator
import HabitStoreRollout

/// The operators' command of an app that keeps notes.
@main
struct NotesOperator: RolloutCommand {
    static let name = "notes-ops"
    static let plan: (any SchemaMigrationPlan.Type)? = NotesPlan.self
    static let flagProvider: (any RolloutFlagProvider)? = EnvironmentFlags()
    static let subcommands: [any ParsableCommand.Type] = [AddNoteCommand.self]
}
