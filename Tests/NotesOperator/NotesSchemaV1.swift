import Foundation
import HabitStore

/// Notebooks, and the notes in them. The version is above those of the schema that ships, as an app's may be.
enum NotesSchemaV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(7, 0, 0)
    static let models: [any PersistentModel.Type] = [Notebook.self, Note.self]

    struct Note: PersistentModel {
        var id = UUID()
        var title: String
        var notebookID: UUID?

        static let entity = EntityDescription(
            Note.self,
            attributes: [
                .id(\Note.id), .attribute("title", \Note.title), .attribute("notebookID", \Note.notebookID),
            ]
        )

        init(title: String) { self.title = title }

        init(row: inout AttributeReader) throws {
            (id, title) = (try row.nextUUID(), try row.nextString())
            notebookID = try row.nextOptionalUUID()
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(title)
            row.append(notebookID)
        }
    }
}
