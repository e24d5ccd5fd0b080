@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreRollout
import HabitStoreSQLite
import ShadowVerifier

extension Engines {
    /// SQLite and LMDB.
    public static let standard: Engines = {
        do {
            return try Engines([SQLiteProvider(), LMDBProvider()])
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}

extension UserStores {
    /// Stores under `root`, of SQLite and LMDB; see ``HabitStoreRollout/UserStores/init(root:store:flags:engines:schema:queries:options:)``.
    public convenience init(
        root: String,
        store: String? = nil,
        flags: String?,
        schema: Schema,
        queries: [QueryFile.Query] = [],
        options: RolloutOptions = RolloutOptions()
    ) throws {
        try self.init(
            root: root,
            store: store,
            flags: flags,
            engines: .standard,
            schema: schema,
            queries: queries,
            options: options
        )
    }

    /// The same with flags from elsewhere.
    public convenience init(
        root: String,
        store: String? = nil,
        flags: FlagOrigin,
        schema: Schema,
        queries: [QueryFile.Query] = [],
        options: RolloutOptions = RolloutOptions()
    ) throws {
        try self.init(
            root: root,
            store: store,
            flags: flags,
            engines: .standard,
            schema: schema,
            queries: queries,
            options: options
        )
    }
}
