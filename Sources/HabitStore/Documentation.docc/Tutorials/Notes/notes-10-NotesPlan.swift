import Foundation
import HabitStoreMacros

/// The first version of the schema.
package enum NotesV1: VersionedSchema {
    package static let versionIdentifier = Schema.Version(1, 0, 0)
    package static let models: [any PersistentModel.Type] = [Note.self]

    @Model
    package struct Note {
        package var title: String
    }
}

/// Adds notebooks and labels.
package enum NotesV2: VersionedSchema {
    package static let versionIdentifier = Schema.Version(2, 0, 0)
    package static let models: [any PersistentModel.Type] = [Note.self, Notebook.self, Label.self]
}

package enum NotesPlan: SchemaMigrationPlan {
    package static let schemas: [any VersionedSchema.Type] = [NotesV1.self, NotesV2.self]
    package static let stages = [MigrationStage.lightweight(fromVersion: NotesV1.self, toVersion: NotesV2.self)]
}
