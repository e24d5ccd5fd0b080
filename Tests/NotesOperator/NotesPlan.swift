import HabitStore

/// The versions of the notes' schema.
enum NotesPlan: SchemaMigrationPlan {
    static let schemas: [any VersionedSchema.Type] = [NotesSchemaV1.self, NotesSchemaV2.self]
    static let stages = [MigrationStage.lightweight(fromVersion: NotesSchemaV1.self, toVersion: NotesSchemaV2.self)]
}
