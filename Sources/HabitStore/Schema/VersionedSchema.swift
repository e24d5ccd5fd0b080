import Synchronization

/// One version of an app's schema, with the models as they were then.
///
/// ```swift
/// enum NotesV1: VersionedSchema {
///     static let versionIdentifier = Schema.Version(1, 0, 0)
///     static let models: [any PersistentModel.Type] = [Note.self]
///     // Beside it, or in an extension: `struct Note: PersistentModel`, as it was in this version.
/// }
/// ```
/// The models of different versions may have the same name; a store knows them by their entity's name.
public protocol VersionedSchema: SendableMetatype {
    /// The version; a store writes it down.
    static var versionIdentifier: Schema.Version { get }

    /// The models of this version.
    static var models: [any PersistentModel.Type] { get }
}

extension VersionedSchema {
    /// The schema of this version, which is made once.
    public static var schema: Schema {
        madeSchemas.withLock { made in
            if let schema = made[ObjectIdentifier(self)] { return schema }
            let schema = Schema(models, version: versionIdentifier)
            made[ObjectIdentifier(self)] = schema
            return schema
        }
    }
}

private let madeSchemas = Mutex<[ObjectIdentifier: Schema]>([:])
