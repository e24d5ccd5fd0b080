/// What leads from one version of a schema to a later one.
///
/// A stage is one transaction: a store is of the one version or of the other, whatever happens. Identifiers, history and
/// tokens stay. What the stage's hooks change is in the history, as what apps change is; what follows from the new shape
/// alone is not.
public enum MigrationStage: Sendable {
    /// Changes the records' shape as the two versions' declarations say: entities and attributes are added (optional, or
    /// with a default), removed, or renamed (by `originalName`), nil may be allowed or, where there is a default, forbidden.
    case lightweight(fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type)

    /// The same, with work before and behind it. An attribute of the same name may have another kind in the new version, and
    /// begins with its default there, with nil or without links.
    ///
    /// - `willMigrate` writes to the store in its old shape.
    /// - `didMigrate` is given the store as it was before the stage, and writes to it in its new shape.
    ///
    /// What they make must follow from the store alone, so that the stores of one user come out alike: derive the identifiers of
    /// new records (see `UUID.named(_:in:)`), and do not ask the clock.
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

    /// Whether it has work of its own.
    public var isCustom: Bool {
        if case .custom = self { return true }
        return false
    }
}
