import HabitStore
import HabitStoreRollout
import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import JournalEngine
import RolloutTesting
import Testing

extension StoreUnderTest {
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
}
