import Dispatch
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// The engine of ``LMDBHabitStore``: an LMDB environment in one file.
@_spi(Engines) public final class LMDBEngine: StorageEngine {
    /// The file's path, as given at opening.
    public let path: String?
    let environment: LMDBEnvironment
    let catalog: LMDBCatalog
    /// The writes that wait to share a commit.
    let commits: SharedCommit<LMDBTransaction>
    #if PLANNER_MUTANTS
    private let mutant: KeyPlannerMutant?
    #endif

    /// How to open a file.
    struct Options {
        var environment = LMDBOptions(isReadOnly: true)
        #if PLANNER_MUTANTS
        var mutant: KeyPlannerMutant?
        #endif
    }

    /// Opens a file; see ``LMDBHabitStore``.
    init(path: String, schema: Schema, options: Options) throws {
        self.path = path
        #if PLANNER_MUTANTS
        mutant = options.mutant
        #endif
        let parts = try schema.derived(LMDBSchemaParts.self) { try LMDBSchemaParts(schema) }
        var environmentOptions = options.environment
        // Doubled, for the indexes of older schemas that the file still has.
        environmentOptions.maxDatabases = max(64, parts.order.count * 2)
        let environment = try LMDBEnvironment.open(path: path, options: environmentOptions)
        self.environment = environment
        commits = SharedCommit(path: path) { environment.isOpen && $0.mayGoOn }
        do {
            let opening = LMDBOpening(
                environment: environment,
                schema: schema,
                parts: parts,
                isReadOnly: environmentOptions.isReadOnly
            )
            catalog = try opening.open()
        } catch {
            environment.close()
            throw error
        }
    }

    /// Runs `body` on a snapshot. Inside a write of the same thread, it sees the state before that write.
    public func read<R>(_ body: (LMDBSnapshot) throws -> R) throws -> R {
        try environment.withRead { transaction in
            let snapshot = try LMDBSnapshot(transaction, catalog)
            #if PLANNER_MUTANTS
            snapshot.mutant = mutant
            #endif
            return try body(snapshot)
        }
    }

    /// Throws if the path now leads to another file than the open one.
    public func requireInPlace() throws { try environment.requireInPlace() }

    /// Runs `body` as the only writer among all processes.
    public func write<R>(_ body: (LMDBWriter) throws -> R) throws -> R {
        try environment.withWrite { try run(body, $0) }
    }

    /// Runs `body` in a write transaction that other writers may share; all but the first run in a nested transaction.
    public func writeTogether<R>(_ body: (LMDBWriter) throws -> R) throws -> R {
        let deadline = environment.writeDeadline
        return try commits.write(
            until: deadline,
            leading: { gather in
                try environment.withWrite(until: deadline) { transaction in
                    let beginning = DispatchTime.now().uptimeNanoseconds
                    let result = try run(body, transaction)
                    transaction.closeCursors()
                    gather(transaction, beginning)
                    return result
                }
            },
            joining: { transaction in
                try transaction.core.lendingTurn { try transaction.withNested { try run(body, $0) } }
            }
        )
    }

    private func run<R>(_ body: (LMDBWriter) throws -> R, _ transaction: LMDBTransaction) throws -> R {
        let writer = try LMDBWriter(transaction, catalog)
        guard writer.hasAllIndexes else {
            throw LMDBError.error(
                .schemaMismatch,
                "a program with other indexes has opened the store meanwhile; open it again",
                path: catalog.path
            )
        }
        return try body(writer)
    }

    /// Writes a consistent copy to an unused path.
    public func backup(to path: String) throws { try environment.copy(to: path, compact: false) }

    /// Closes the file, after the transactions in progress.
    public func close() { environment.close() }
}
