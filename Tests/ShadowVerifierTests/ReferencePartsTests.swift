import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import ShadowVerifier

/// Comparing relationships used memory in proportion to the referenced records, without a bound.
struct ReferencePartsTests {
    @Test func partsCoverAllIdentifiersOnceAndInTheirOrder() throws {
        for targets in [0, 1, ReferenceReading.mostTargets, ReferenceReading.mostTargets + 1, 1_090_000, .max / 2] {
            let parts = ReferenceReading.parts(of: targets)
            #expect(parts.first?.first == IdentifierRange.all.first)
            #expect(parts.last?.last == IdentifierRange.all.last)
            for (before, after) in zip(parts, parts.dropFirst()) { #expect(before.last.successor == after.first) }
        }
        #expect(ReferenceReading.parts(of: ReferenceReading.mostTargets) == [.all])
        #expect(ReferenceReading.parts(of: 1_090_000).count == 9)
    }

    @Test func readingByPartsFindsWhatOneReadingFindsAndHoldsLess() throws {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        let habits = (0..<60).map { Habit(name: "Habit \($0)", createdAt: Date(timeIntervalSinceReferenceDate: 0)) }
        try store.write(author: "test") { transaction in
            for habit in habits { try transaction.save(habit) }
            for number in 0..<300 {
                let date = Date(timeIntervalSinceReferenceDate: Double(number))
                try transaction.save(Entry(date: date, habitID: habits[number % habits.count].id))
            }
        }
        let schema = store.schema
        let entity = try #require(schema.entities.firstIndex { $0.name == "Entry" })
        let relationship = try #require(schema.relationships[entity].first { $0.isStored })
        let reading = ReferenceReading(schema: schema, entity: entity, relationship: relationship)
        try store.read { transaction in
            let whole = try reading.references(transaction, in: .all)
            #expect(whole.count == 300)
            #expect(whole.sources.count == habits.count)
            var found: [UUID: RecordDigest] = [:]
            var count = 0
            let parts = ReferenceReading.parts(of: 8 * ReferenceReading.mostTargets)
            for part in parts {
                let references = try reading.references(transaction, in: part)
                #expect(references.sources.count < habits.count)
                found.merge(references.sources) { _, _ in RecordDigest() }
                count += references.count
            }
            #expect(count == whole.count)
            #expect(found == whole.sources)
        }
    }
}
