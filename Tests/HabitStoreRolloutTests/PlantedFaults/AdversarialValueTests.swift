import Foundation
import HabitTracker
import ShadowVerifier
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreRollout

/// Values that confuse digests if texts are concatenated without a boundary.
struct AdversarialValueTests {
    /// Two neighbouring texts of a record: category and unit.
    ///
    /// The last text continues like the canonical form of the attributes between the two and of "c": false, 1, 1, a text.
    private static let neighbours: [[Value]] = [
        [.null, .null], [.string(""), .null], [.null, .string("")], [.string(""), .string("")],
        [.string("<null>"), .null], [.null, .string("<null>")], [.string("<null>"), .string("<null>")],
        [.string("a|b"), .string("c")], [.string("a"), .string("b|c")], [.string("a|b|c"), .null],
        [.string("a\0b"), .string("c")], [.string("a"), .string("b\0c")], [.string("\0"), .null],
        // Ways to encode the end of a text and the beginning of the next.
        [.string("a"), .string("c")], [.string("ac"), .string("")], [.string("a\u{1}\0\0\0c"), .null],
        [.string("a\u{5}\u{1}\0\0\0\0\0\0\0c"), .null], [.string("a\",\"c"), .null], [.string("a\u{1f}c"), .null],
        [.string("a\u{1}\0\u{2}\u{1}\0\0\0\0\0\0\0\u{2}\u{1}\0\0\0\0\0\0\0\u{4}\u{1}\0\0\0c"), .null],
    ]

    private static let lists: [[Value]] = [
        [], [""], ["", ""], ["", "", ""], ["ab"], ["a", "b"], ["b", "a"], ["a,b"], ["a\",\"b"], ["a\0b"], ["[]"],
        ["[\"\"]"],
        ["null"], ["a", "a"], ["a", "a", "b", "b"], ["b", "b", "a", "a"], ["a\u{1}\0\0\0b"],
    ].map { [.strings($0)] }

    /// One record for each pair of values: it has `held`, and is given `given`.
    private struct Case<Model: PersistentModel>: Sendable {
        let model: Model
        let attributes: [String]
        let held: [Value]
        let given: [Value]

        var changed: [String] { zip(attributes, zip(held, given)).filter { $0.1.0 != $0.1.1 }.map(\.0) }
    }

    private static func pairs(_ values: [[Value]]) -> [(held: [Value], given: [Value])] {
        values.indices.flatMap { first in
            values.indices.filter { $0 != first }.map { (values[first], values[$0]) }
        }
    }

    private static func habits() throws -> [Case<Habit>] {
        try pairs(neighbours).enumerated().map { number, pair in
            let habit = Habit(
                id: SampleRecords.id(1_000 + number),
                name: "habit",
                createdAt: SampleRecords.referenceDate,
                category: try String?(attribute: pair.held[0]),
                unit: try String?(attribute: pair.held[1])
            )
            return Case(model: habit, attributes: ["category", "unit"], held: pair.held, given: pair.given)
        }
    }

    private static func drafts() throws -> [Case<Draft>] {
        try pairs(lists).enumerated().map { number, pair in
            let draft = Draft(
                id: SampleRecords.id(9_000 + number),
                content: "draft",
                creationDate: SampleRecords.referenceDate,
                attachments: try [String](attribute: pair.held[0])
            )
            return Case(model: draft, attributes: ["attachments"], held: pair.held, given: pair.given)
        }
    }

    @Test(arguments: EngineName.standard)
    func valuesThatLookAlikeAreToldApart(engine: EngineName) throws {
        let folder = try TemporaryFolder()
        let addresses = EngineName.standard.map { StoreAddress($0, path: folder.path($0.fileName)) }
        let (habits, drafts) = (try Self.habits(), try Self.drafts())
        try Self.with(addresses, .create) { stores in
            try stores[0].write(author: "test") { transaction in
                for habit in habits { try transaction.insert(habit.model) }
                for draft in drafts { try transaction.insert(draft.model) }
            }
            _ = try Backfill(from: stores[0], to: stores[1]).run()
            #expect(try SampleRecords.verdict(stores[0], stores[1]) == .match)
        }
        let planter = try #require(addresses.first { $0.engine == engine }).planter
        let expected = Set(try Self.plant(habits, planter) + Self.plant(drafts, planter))
        try Self.with(addresses, .readOnly) { stores in
            var options = VerificationOptions()
            options.maximumDifferences = 10_000
            let report = try ShadowVerifier(
                .init(name: "A", store: stores[0]),
                .init(name: "B", store: stores[1]),
                options: options
            ).run()
            let contents = CaughtFault(report: report).levels.first { $0.name == "contents" }
            let named = try #require(contents).differences.map {
                [$0.entity ?? "", $0.id?.uuidString ?? "", $0.attribute ?? ""]
            }
            #expect(Set(named) == expected)
            #expect(named.count == expected.count)
        }
    }

    /// Gives each record the other values.
    ///
    /// - Returns: what differs then: entity, record and attribute.
    private static func plant<M: PersistentModel>(
        _ cases: [Case<M>],
        _ planter: any FaultPlanter
    ) throws -> [[String]] {
        let changes = cases.map { planted in
            (planted.model.id, Dictionary(uniqueKeysWithValues: zip(planted.attributes, planted.given)))
        }
        try planter.change(M.entity.name, Dictionary(uniqueKeysWithValues: changes))
        return cases.flatMap { planted in
            planted.changed.map { [M.entity.name, planted.model.id.uuidString, $0] }
        }
    }

    private static func with(
        _ addresses: [StoreAddress],
        _ access: StoreAccess,
        _ body: ([any UserStoreBackend]) throws -> Void
    ) throws {
        let stores = try addresses.map { try $0.open(access, schema: HabitSchema.current) }
        defer { for store in stores { store.close() } }
        try body(stores)
    }
}

extension StoreAddress {
    /// Changes this store without using its code.
    var planter: any FaultPlanter {
        switch engine {
        case .sqlite: SQLitePlanter(path: path)
        case .lmdb: LMDBPlanter(path: path)
        default: PostgresPlanter(path: path)
        }
    }
}

extension AttributeConvertible {
    /// Converts a stored value to the Swift type of the attribute.
    fileprivate init(attribute value: Value) throws {
        guard let converted = Self(attributeValue: value) else {
            throw HabitStoreError(.invalidValue, "a value of another kind")
        }
        self = converted
    }
}
