import Foundation
import HabitStore

/// A note.
public struct Note: PersistentModel {
    /// The identifier.
    public var id = UUID()
    /// The text of the note.
    public var title: String

    /// The entity of notes.
    public static let entity = EntityDescription(
        Note.self,
        attributes: [.id(\Note.id), .attribute("title", \Note.title)]
    )

    /// Makes a note.
    public init(title: String) { self.title = title }

    /// Reads a note from a row.
    public init(row: inout AttributeReader) throws { (id, title) = (try row.nextUUID(), try row.nextString()) }

    /// Writes the note to a row.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(title)
    }
}

/// The first version of the schema.
public enum NotesV1: VersionedSchema {
    /// The version number.
    public static let versionIdentifier = Schema.Version(1, 0, 0)
    /// The models of this version.
    public static let models: [any PersistentModel.Type] = [Note.self]
}

/// The migrations between versions.
public enum NotesPlan: SchemaMigrationPlan {
    /// All versions, oldest first.
    public static let schemas: [any VersionedSchema.Type] = [NotesV1.self]
    /// The stages between them; none yet.
    public static let stages: [MigrationStage] = []
}
