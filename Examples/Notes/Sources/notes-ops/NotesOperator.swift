import HabitStore
import HabitStoreOperator
import NotesModel

@main
struct NotesOperator: RolloutCommand {
    static let name = "notes-ops"
    static let plan: (any SchemaMigrationPlan.Type)? = NotesPlan.self
}
