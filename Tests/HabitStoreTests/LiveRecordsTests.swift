import Foundation
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreTesting

@Suite("The records of a live query")
struct LiveRecordsTests {
    private typealias Row = LiveRecords<Int>.Row

    private static let order = LiveOrder([
        BoundQuery.SortKey(position: 1, ascending: true), BoundQuery.SortKey(position: 0, ascending: true),
    ])

    /// Few keys, so that many records are ordered by their identifiers.
    private func row(_ number: Int, _ random: inout SeededGenerator) -> Row {
        Row(id: UUID.random(using: &random), keys: [.int(Int64.random(in: 0..<50, using: &random))], element: number)
    }

    private func isBefore(_ left: Row, _ right: Row) -> Bool {
        Self.order.isBefore((left.keys, left.id), (right.keys, right.id))
    }

    /// From several chunks' worth of records down to none.
    @Test(arguments: [0, 1, 95, 96, 97, 1_000]) func theyAreWhatAnArrayWouldHold(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        var expected = (0..<count).map { row($0, &random) }.sorted(by: isBefore)
        var records = LiveRecords(expected)
        expectSame(records, expected)
        let earlier = (records, expected)
        for number in 0..<1_000 {
            let row = row(number, &random)
            let place = expected.firstIndex { !isBefore($0, row) } ?? expected.count
            #expect(records.place(of: row.id, row.keys, Self.order) == place)
            expected.insert(row, at: place)
            records.insert(row, at: place)
            let replaced = Int.random(in: 0..<expected.count, using: &random)
            expected[replaced] = Row(id: expected[replaced].id, keys: expected[replaced].keys, element: -number)
            records.replace(at: replaced, with: -number)
        }
        expectSame(records, expected)
        while !expected.isEmpty {
            let place = Int.random(in: 0..<expected.count, using: &random)
            #expect(records.place(of: expected[place].id, expected[place].keys, Self.order) == place)
            expected.remove(at: place)
            records.remove(at: place)
            if expected.count % 100 == 0 { expectSame(records, expected) }
        }
        // The earlier copy is unchanged.
        expectSame(earlier.0, earlier.1)
    }

    private func expectSame(_ records: LiveRecords<Int>, _ expected: [Row]) {
        #expect(records.elementsEqual(expected.map(\.element)))
        var identifiers: [UUID] = []
        records.enumerateIdentifiers { place, id in
            #expect(place == identifiers.count)
            identifiers.append(id)
        }
        #expect(identifiers == expected.map(\.id))
    }

    @Test func theFirstAnswerIsInsertedAsAWhole() {
        var random = SeededGenerator(seed: 1)
        let records = LiveRecords((0..<300).map { row($0, &random) })
        let none = LiveRecords<Int>([])
        #expect(ResultsDifference(from: none, to: records, isSame: ==) == ResultsDifference(insertions: Array(0..<300)))
        #expect(ResultsDifference(from: records, to: none, isSame: ==) == ResultsDifference(removals: Array(0..<300)))
        #expect(ResultsDifference(from: none, to: none, isSame: ==).isEmpty)
    }
}
