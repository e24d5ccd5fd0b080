import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStorePostgres

/// What other programs do to the tables.
@Suite("PostgreSQL: rows that were changed past the program", .needsServer)
struct PostgresDamageTests {
    private func run(_ place: PostgresPlace, _ calls: [PostgresCall]) throws {
        let pool = PostgresPool.of(place.server)
        _ = try pool.withConnection(until: pool.deadline) { try $0.run(calls, until: pool.answerDeadline) }
    }

    /// What was left of a store whose own row had been deleted became a new user's.
    @Test func aStoreIsNotMadeOfWhatIsLeftOfAnother() throws {
        let place = try TestServer.place()
        try PostgresHabitStore(place).save(Habit(name: "Run"))
        for table in ["hs_store", "hs_meta"] {
            let text = "DELETE FROM \(table) WHERE store = $1"
            try run(place, [PostgresCall(PostgresStatement(name: "lost_\(table)", text: text), .uuid(place.store))])
            #expect { try PostgresHabitStore(place) } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
        }
    }

    /// The rows of two stores that were exchanged were shown under each other's names.
    @Test func aStoreIsNotShownUnderAnothersName() throws {
        let place = try TestServer.place()
        let store = try PostgresHabitStore(place)
        try store.save(Habit(name: "Run"))
        let rename = PostgresStatement(name: "rename", text: "UPDATE hs_store SET name = $2 WHERE store = $1")
        try run(place, [PostgresCall(rename, .uuid(place.store), .text("bob"))])
        #expect { try store.all(Habit.self) } throws: { ($0 as? HabitStoreError)?.code == .staleStore }
        #expect { try PostgresHabitStore(place) } throws: { ($0 as? HabitStoreError)?.code == .staleStore }
    }
}
