import Foundation
@_spi(Engines) import HabitStore
import HabitStorePostgres
@_spi(Engines) import HabitStoreTesting
import OrderedKeys
import Testing
import Trials

@Suite("PostgreSQL beside the other stores", .needsServer)
struct PostgresRandomTests {
    @Test(arguments: [1, 2] as [UInt64])
    func answersWhatTheReferenceAnswers(seed: UInt64) throws {
        let report = try DifferentialTest(seed: seed, operations: 1_500, queries: 400).run(against: TestServer.store)
        print(report)
        #expect(report.answered > 80)
    }

    @Test func answersAsFoundationDoes() throws {
        let fuzz = QueryFuzz(
            seed: 11,
            data: [try .specimens(seed: 11), try .habits(seed: 11)],
            subjects: [try TestServer.store]
        )
        let report = try fuzz.run(.queries(1_000))
        print(report)
        #expect(report.answered > 400)
    }

    #if PLANNER_MUTANTS
    /// The plans are those of every engine over ordered keys, and random queries find each bug that is planted there in LMDB; here
    /// it is seen that they are found through a server, too.
    @Test(arguments: [KeyPlannerMutant.lessOrEqualIsLess, .residualIsLost, .tieBreakIsDropped, .offsetIsAppliedTwice])
    func aPlantedBugIsFound(_ mutant: KeyPlannerMutant) throws {
        let server = try TestServer.place().server
        let store = StoreUnderTest(name: "PostgreSQL: \(mutant.rawValue)", isDurable: true) {
            directory,
            schema,
            id,
            now in
            var options = PostgresHabitStore.Options(identity: id, now: now)
            options.mutant = mutant
            return try PostgresHabitStore(
                PostgresPlace(server: server, name: directory.path),
                schema: schema,
                options: options
            )
        }
        let seed: UInt64 = 2_026
        let data = [try FuzzData.habits(seed: seed), try FuzzData.specimens(seed: seed)]
        #expect(try MutantHunt(seed: seed, data: data, mutants: [store], limit: 2_000).run().isComplete)
    }
    #endif
}
