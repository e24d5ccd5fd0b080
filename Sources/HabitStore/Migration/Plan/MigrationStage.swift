/// A step from one version of a schema to a later one.
///
/// A stage is one transaction: the store always has either the old version or the new one. Identifiers, history and tokens stay. Changes by the
/// stage's hooks are in the history, like an app's changes; the consequences of the new shape alone are not.
public enum MigrationStage: Sendable {
    /// Changes the records' shape as the two versions' declarations say: entities and attributes are added (optional, or
    /// with a default), removed, or renamed (by `originalName`), nil may be allowed or, where there is a default, forbidden.
    case lightweight(fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type)

    /// A stage with work before and after it. An attribute of the same name may have another kind in the new version, and begins with its default
    /// there, with nil, or without links.
    ///
    /// - `willMigrate` writes to the store in its old shape.
    /// - `didMigrate` gets a snapshot from before the stage, and writes to it in its new shape.
    ///
    /// Hooks must be deterministic across a user's stores: derive the identifiers of new records (see `UUID.named(_:in:)`), and do not use the
    /// clock.
    case custom(
        fromVersion: any VersionedSchema.Type,
        toVersion: any VersionedSchema.Type,
        willMigrate: (@Sendable (_ store: any WriteTransaction) throws -> Void)?,
        didMigrate: (@Sendable (_ before: any ReadTransaction, _ store: any WriteTransaction) throws -> Void)?
    )

    /// The version that it leads from.
    public var from: any VersionedSchema.Type {
        switch self {
        case .lightweight(let from, _), .custom(let from, _, _, _): return from
        }
    }

    /// The version that it leads to.
    public var to: any VersionedSchema.Type {
        switch self {
        case .lightweight(_, let to), .custom(_, let to, _, _): return to
        }
    }

    /// Whether it has hooks.
    public var isCustom: Bool {
        if case .custom = self { return true }
        return false
    }
}
