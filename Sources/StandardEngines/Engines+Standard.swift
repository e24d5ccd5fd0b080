@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreRollout
import HabitStoreSQLite
import ShadowVerifier

extension Engines {
    /// The engines SQLite and LMDB.
    public static let standard: Engines = {
        do {
            return try Engines([SQLiteProvider(), LMDBProvider()])
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}

extension UserStores {
    /// Users' stores under `root`, with SQLite and LMDB; see ``HabitStoreRollout/UserStores/init(root:store:flags:engines:schema:queries:options:)``.
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

    /// Users' stores under `root`, with SQLite and LMDB and flags from any origin.
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
