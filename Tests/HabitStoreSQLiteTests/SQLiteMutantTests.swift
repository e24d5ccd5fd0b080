#if PLANNER_MUTANTS
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreSQLite

@Suite("SQLite: planted bugs")
struct SQLiteMutantTests {
    private func store(_ name: String, _ change: @escaping @Sendable (inout SQLiteHabitStore.Options) -> Void)
        -> StoreUnderTest
    {
        StoreUnderTest(name: name, isDurable: true) { directory, schema, identity, clock in
            var options = SQLiteHabitStore.Options(identity: identity, now: clock)
            change(&options)
            let path = directory.appendingPathComponent("store.sqlite").path
            return try SQLiteHabitStore(path: path, schema: schema, options: options)
        }
    }

    /// Semi-joins are chosen where tables are large, which those of the test are not.
    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func semiJoinsAnswerTheSameWhereverTheyAreChosen(_ seed: UInt64) throws {
        print("SQLite differential test of semi-joins: seed \(seed)")
        let joining = store("joining SQLite") { $0.joinShare = 0 }
        let report = try DifferentialTest(seed: seed, operations: 5_000, queries: 3_000).run(against: joining)
        #expect(report.answered > report.queries / 10)
    }

    /// Each bug is one that the differential test finds.
    @Test(arguments: SQLitePlannerMutant.allCases.filter { $0 != .referenceTakenForRecord })
    func everyPlantedBugIsFound(_ mutant: SQLitePlannerMutant) throws {
        let mutated = store("SQLite with a bug") { $0.mutant = mutant }
        for seed in UInt64(1)...8 {
            do {
                _ = try DifferentialTest(seed: seed, operations: 500, queries: 1_500).run(against: mutated)
            } catch let disagreement as Disagreement {
                print("SQLite, \(mutant): seed \(seed), step \(disagreement.step)")
                return
            }
        }
        Issue.record("\(mutant) was not found")
    }

    /// The stores of the differential test have no dangling references, which are found in old ones only.
    @Test func aReferenceTakenForARecordIsSeenWhereOneDangles() throws {
        let file = try SQLiteTestStore()
        try file.make { try $0.insert(Entry(id: testID(1), habitID: nil)) }
        try file.sql("UPDATE Entry SET habitID = zeroblob(16)")
        for mutant in [nil, SQLitePlannerMutant.referenceTakenForRecord] {
            var options = SQLiteHabitStore.Options()
            options.mutant = mutant
            let store = try file.open(options)
            defer { file.close(store) }
            let filter = Filter<Entry>(try FilterExpression(text: "habit != nil"))
            #expect(try store.fetchCount(FetchDescriptor(filter: filter)) == (mutant == nil ? 0 : 1))
        }
    }
}
#endif
