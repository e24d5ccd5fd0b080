import HabitStore
import HabitStorePostgres
import NotesModel

struct NotesOperator: RolloutCommand {
    static let plan: (any SchemaMigrationPlan.Type)? = NotesPlan.self
}
