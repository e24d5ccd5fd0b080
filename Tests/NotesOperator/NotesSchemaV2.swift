import Foundation
import HabitStore

/// Notes can be pinned.
enum NotesSchemaV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(8, 0, 0)
    static let models: [any PersistentModel.Type] = [Notebook.self, Note.self]

    struct Note: PersistentModel {
        var id = UUID()
        var title: String
        var notebookID: UUID?
        var isPinned = false

        static let entity = EntityDescription(
            Note.self,
            attributes: [
                .id(\Note.id), .attribute("title", \Note.title), .attribute("notebookID", \Note.notebookID),
                .attribute("isPinned", \Note.isPinned, default: false),
            ]
        )

        init(title: String) { self.title = title }

        init(row: inout AttributeReader) throws {
            (id, title) = (try row.nextUUID(), try row.nextString())
            notebookID = try row.nextOptionalUUID()
            isPinned = try row.nextBool()
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(title)
            row.append(notebookID)
            row.append(isPinned)
        }
    }
}
