import Foundation
import HabitStore
import Testing

@testable import HabitStorePostgres

@Suite("Where a store on a server is")
struct PostgresPlaceTests {
    @Test(arguments: [
        "//db1,db2:5433/habits?sslmode=verify-full#alice", "//habitstore@127.0.0.1:5432/postgres#a%20b%23c", "//#x",
        "//?service=habits#alice",
    ])
    func readsWhatItWrites(_ text: String) throws {
        let place = try PostgresPlace(parsing: text)
        #expect(place.description == text)
        #expect(try PostgresPlace(parsing: place.description) == place)
    }

    @Test func aNameIsAnything() throws {
        let place = PostgresPlace(server: "postgresql://db/habits", name: "/tmp/ü #?%")
        #expect(try PostgresPlace(parsing: place.description) == place)
    }

    @Test(arguments: ["", "db#alice", "//db/habits", "//db/habits#", "//db/habits#%00", "//db/habits#%zz"])
    func refusesWhatNamesNoStore(_ text: String) {
        #expect(throws: HabitStoreError.self) { try PostgresPlace(parsing: text) }
    }

    /// Addresses appear in logs, in evidence and in lists of processes.
    @Test(arguments: [
        "//me:secret@db/habits#alice", "//db/habits?sslmode=require&password=secret#alice",
        "//db/habits?%70assword=secret#alice", "//db/habits?PASSWORD=secret#alice",
        "//db/habits?sslpassword=secret&a=b#alice",
    ])
    func refusesAPasswordAndDoesNotRepeatIt(_ text: String) {
        do {
            _ = try PostgresPlace(parsing: text)
            Issue.record("a password was taken")
        } catch {
            #expect(!"\(error)".contains("secret"))
        }
    }

    /// An address with the other scheme lost its first letters.
    @Test func bothSchemesNameTheSameServer() throws {
        let usual = PostgresPlace(server: "postgresql://db/habits", name: "alice")
        for server in ["postgres://db/habits", try PostgresPlace.server("postgres://db/habits")] {
            let place = PostgresPlace(server: server, name: "alice")
            #expect(place == usual)
            #expect(place.description == "//db/habits#alice")
        }
        #expect(try PostgresServer("postgres://db/habits").uri == usual.server)
    }

    @Test func twoNamesAreTwoStores() {
        let stores = (0..<1_000).map { PostgresPlace(server: "postgresql://", name: "user \($0)").store }
        #expect(Set(stores).count == stores.count)
    }
}
