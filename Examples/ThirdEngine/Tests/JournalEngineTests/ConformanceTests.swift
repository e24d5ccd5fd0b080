import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import JournalEngine
import RolloutTesting
import Testing

extension StoreUnderTest {
    /// This package's store.
    static let journal = StoreUnderTest(name: "journal", isDurable: true) { directory, schema, identity, clock in
        try JournalStore(
            path: directory.appendingPathComponent("store.journal").path,
            schema: schema,
            access: .create,
            identity: identity,
            now: clock
        )
    }
}

extension RolloutUnderTest {
    static let toJournal = RolloutUnderTest(from: SQLiteProvider(), to: JournalProvider())
    static let fromJournal = RolloutUnderTest(from: JournalProvider(), to: SQLiteProvider())
    static let journalToLMDB = RolloutUnderTest(from: JournalProvider(), to: LMDBProvider())
}

/// Everything that an engine has to prove: one line for each kit.
struct ConformanceTests {
    @Test(arguments: StoreContract.clauses)
    func keepsTheContract(_ clause: StoreContract.Clause) async throws { try await clause.verify(.journal) }

    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func answersWhatTheReferenceAnswers(_ seed: UInt64) throws {
        print(try DifferentialTest(seed: seed).run(against: .journal))
    }

    @Test(arguments: [RolloutUnderTest.toJournal, .fromJournal, .journalToLMDB], RolloutContract.clauses)
    func isMovedToAndFrom(_ rollout: RolloutUnderTest, _ clause: RolloutContract.Clause) throws {
        try clause.verify(rollout)
    }

    @Test(arguments: [RolloutUnderTest.toJournal, .fromJournal], [UInt64.random(in: 0...UInt64.max)])
    func survivesFaults(_ rollout: RolloutUnderTest, _ seed: UInt64) async throws {
        print(try await RolloutFaultTest(seed: seed).run(against: rollout))
    }
}
