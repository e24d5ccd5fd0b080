import Synchronization

/// One version of an app's schema, with its models in that version.
///
/// ```swift
/// enum NotesV1: VersionedSchema {
///     static let versionIdentifier = Schema.Version(1, 0, 0)
///     static let models: [any PersistentModel.Type] = [Note.self]
///     // Beside it, or in an extension: `struct Note: PersistentModel`, as it was in this version.
/// }
/// ```
/// The models of different versions may have the same name; a store identifies them by their entity's name.
public protocol VersionedSchema: SendableMetatype {
    /// The version; a store writes it down.
    static var versionIdentifier: Schema.Version { get }

    /// The models of this version.
    static var models: [any PersistentModel.Type] { get }
}

extension VersionedSchema {
    /// The schema of this version, which is made once.
    public static var schema: Schema {
        MadeSchemas.current.schema(of: self) { Schema(models, version: versionIdentifier) }
    }

    /// The schema of this version as one that stores are taken on from; see ``Schema/init(earlier:version:)``.
    package static var earlierSchema: Schema {
        MadeSchemas.earlier.schema(of: self) { Schema(earlier: models, version: versionIdentifier) }
    }
}

/// The schemas that were made, each once.
private final class MadeSchemas: Sendable {
    static let current = MadeSchemas()
    static let earlier = MadeSchemas()

    private let made = Mutex<[ObjectIdentifier: Schema]>([:])

    func schema(of version: any VersionedSchema.Type, _ make: () -> Schema) -> Schema {
        made.withLock { made in
            if let schema = made[ObjectIdentifier(version)] { return schema }
            let schema = make()
            made[ObjectIdentifier(version)] = schema
            return schema
        }
    }
}
