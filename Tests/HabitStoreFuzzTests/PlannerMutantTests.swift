#if PLANNER_MUTANTS
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import OrderedKeys
import Testing

/// A fuzzer that finds nothing in sound planners says little; these planners have one bug each.
@Suite("Random queries against planners with a planted bug")
struct PlannerMutantTests {
    /// LMDB's `narrowsBehindFailure` has a separate test: it takes a record that fails and that the next condition excludes, which 20,000 random
    /// queries may not have.
    @Test func everyBugIsFound() throws {
        let seed: UInt64 = 2_026
        let data = [try FuzzData.habits(seed: seed), try FuzzData.specimens(seed: seed)]
        let mutants =
            SQLitePlannerMutant.allCases.map(Self.store)
            + KeyPlannerMutant.allCases.filter { $0 != .narrowsBehindFailure }.map(Self.store)
        let table = try MutantHunt(seed: seed, data: data, mutants: mutants).run()
        print("seed \(seed)\n\(table)")
        #expect(table.isComplete)
    }

    private static func store(_ mutant: SQLitePlannerMutant) -> StoreUnderTest {
        StoreUnderTest(name: "SQLite: \(mutant.rawValue)", isDurable: true) { directory, schema, identity, clock in
            var options = SQLiteHabitStore.Options(identity: identity, now: clock)
            options.mutant = mutant
            // The tables are small, and semi-joins have to be chosen there, too.
            options.joinShare = 0
            let path = directory.appendingPathComponent("store.sqlite").path
            return try SQLiteHabitStore(path: path, schema: schema, options: options)
        }
    }

    private static func store(_ mutant: KeyPlannerMutant) -> StoreUnderTest {
        StoreUnderTest(name: "LMDB: \(mutant.rawValue)", isDurable: true) { directory, schema, identity, clock in
            var options = LMDBHabitStore.Options(identity: identity, now: clock)
            options.mutant = mutant
            let path = directory.appendingPathComponent("store.lmdb").path
            return try LMDBHabitStore(path: path, schema: schema, options: options)
        }
    }
}
#endif
