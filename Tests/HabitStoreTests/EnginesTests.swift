import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

struct EnginesTests {
    @Test(arguments: ["sqlite", "lmdb", "postgres-eu", "a", "x1", String(repeating: "e", count: 32)])
    func aNameIsWhatItSays(name: String) throws {
        let engine = try #require(EngineName(rawValue: name))
        #expect("\(engine)" == name)
        #expect(try JSONDecoder().decode(EngineName.self, from: JSONEncoder().encode(engine)) == engine)
    }

    @Test(arguments: ["", "SQLite", "1st", "-x", "a b", "a/b", "a:b", "..", "é", String(repeating: "e", count: 33)])
    func whatCouldBeAnotherPathOrAddressIsNoName(name: String) {
        #expect(EngineName(rawValue: name) == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(EngineName.self, from: JSONEncoder().encode(name))
        }
    }

    @Test func enginesAreFoundByNameAndTheFirstTwoAreMeant() throws {
        let engines = try Engines([
            InMemoryProvider(name: "a"), InMemoryProvider(name: "b"), InMemoryProvider(name: "c"),
        ])
        #expect(engines.names == ["a", "b", "c"])
        #expect(engines.pair() == EnginePair(old: "a", new: "b"))
        #expect(engines.pair(old: "b") == EnginePair(old: "b", new: "a"))
        #expect(engines.pair(old: "c") == EnginePair(old: "c", new: "a"))
        let error = #expect(throws: HabitStoreError.self) { try engines.provider("d") }
        #expect(error?.code == .engineUnavailable)
        #expect(error?.message.contains("a, b, c") == true)
    }

    @Test func twoOfOneNameOrFewerThanTwoAreRefused() {
        for providers in [[InMemoryProvider()], [InMemoryProvider(), InMemoryProvider()]] {
            let error = #expect(throws: HabitStoreError.self) { try Engines(providers) }
            #expect(error?.code == .invalidValue)
        }
    }

    @Test func anAddressNamesAnEngineThatThereIs() throws {
        let engines = try Engines([InMemoryProvider(name: "eu"), InMemoryProvider(name: "eu-2")])
        #expect(try engines.address(parsing: "eu:x") == StoreAddress("eu", path: "x"))
        #expect(try engines.address(parsing: "eu-2:x:y") == StoreAddress("eu-2", path: "x:y"))
        for (text, code) in [("eu:", HabitStoreError.Code.invalidValue), ("us:x", .notFound), ("/etc", .notAStore)] {
            let error = #expect(throws: HabitStoreError.self) { try engines.address(parsing: text) }
            #expect(error?.code == code)
        }
    }

    @Test func aStoreInMemoryIsKeptByItsPlace() throws {
        let provider = InMemoryProvider()
        let schema = HabitSchema.current
        #expect(throws: HabitStoreError.self) { try provider.open("p", schema: schema, access: .readWrite) }
        let first = try provider.open("p", schema: schema, access: .create)
        try first.save(Habit(name: "Run"))
        let second = try provider.open("p", schema: schema, access: .readOnly)
        #expect(try second.fetchCount(FetchDescriptor<Habit>()) == 1)
        first.close()
        #expect(throws: HabitStoreError.self) { try first.save(Habit(name: "Read")) }
        try second.backup(to: "q")
        #expect(throws: HabitStoreError.self) { try second.backup(to: "q") }
        let aside = try provider.setAside("p", as: "aside")
        #expect(provider.identity(at: "p") == nil)
        #expect(provider.identity(at: aside) != provider.identity(at: "q"))
        #expect(try provider.outline(at: aside).version == schema.version)
        try provider.remove(aside)
        #expect(provider.identity(at: aside) == nil)
        let copy = try provider.open("q", schema: schema, access: .readWrite)
        try copy.save(Habit(name: "Read"))
        #expect(try copy.fetchCount(FetchDescriptor<Habit>()) == 2)
        #expect(try second.fetchCount(FetchDescriptor<Habit>()) == 1)
    }
}
