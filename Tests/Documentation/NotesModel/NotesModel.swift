import Foundation
import HabitStore

/// A note.
public struct Note: PersistentModel {
    /// The identity.
    public var id = UUID()
    /// What it says.
    public var title: String

    /// The declaration.
    public static let entity = EntityDescription(
        Note.self,
        attributes: [.id(\Note.id), .attribute("title", \Note.title)]
    )

    /// Makes a note.
    public init(title: String) { self.title = title }

    /// Reads the attributes.
    public init(row: inout AttributeReader) throws { (id, title) = (try row.nextUUID(), try row.nextString()) }

    /// Writes the attributes.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(title)
    }
}

/// The first version.
public enum NotesV1: VersionedSchema {
    /// The version.
    public static let versionIdentifier = Schema.Version(1, 0, 0)
    /// The models.
    public static let models: [any PersistentModel.Type] = [Note.self]
}

/// All versions.
public enum NotesPlan: SchemaMigrationPlan {
    /// The versions.
    public static let schemas: [any VersionedSchema.Type] = [NotesV1.self]
    /// The stages.
    public static let stages: [MigrationStage] = []
}
