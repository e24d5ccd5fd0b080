import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// Which queries have the same shape.
struct QueryShapeTests {
    private func shape(_ entity: String, _ filter: String, sort: [String] = [], limit: Int? = nil, offset: Int = 0)
        throws -> QueryShape
    {
        let query = RecordQuery(
            entity: entity,
            filter: try FilterExpression(text: filter),
            sort: sort.map { $0.hasPrefix("-") ? .init(String($0.dropFirst()), ascending: false) : .init($0) },
            limit: limit,
            offset: offset
        )
        return QueryShape(.rows, try query.bound(to: HabitSchema.current))
    }

    @Test(arguments: [
        ("name == \"Run\"", "name == \"Read\""), ("streak >= 7 AND streak < 9", "streak >= 1 AND streak < 2"),
        ("name IN [\"a\", \"b\"]", "name IN [\"c\"]"), ("ANY entries { value > 90 }", "ANY entries { value > 1 }"),
        ("name CONTAINS \"é\"", "name CONTAINS \"long text\""),
    ])
    func literalsAreNoPartOfIt(pair: (String, String)) throws {
        #expect(try shape("Habit", pair.0) == shape("Habit", pair.1))
        #expect(try shape("Habit", pair.0, limit: 3, offset: 4) == shape("Habit", pair.1, limit: 5, offset: 6))
    }

    @Test func everythingElseIs() throws {
        let filters = [
            "", "name == \"a\"", "name != \"a\"", "category == \"a\"", "category == nil", "NOT (name == \"a\")",
            "name CONTAINS \"a\"", "name BEGINSWITH \"a\"", "name == \"a\" AND streak == 1",
            "name == \"a\" OR streak == 1", "streak == 1 AND name == \"a\"", "isArchived == true",
            "isArchived == false",
            "ANY entries { value > 1 }", "ALL entries { value > 1 }", "COUNT entries > 1", "COUNT tags > 1",
            "streak + 1 == 1", "streak - 1 == 1", "streak > 1", "streak >= 1",
        ]
        var shapes = try filters.map { try shape("Habit", $0) }
        shapes.append(try shape("Tag", ""))
        shapes.append(try shape("Habit", "", sort: ["name"]))
        shapes.append(try shape("Habit", "", sort: ["-name"]))
        shapes.append(try shape("Habit", "", sort: ["name", "streak"]))
        shapes.append(try shape("Habit", "", limit: 1))
        shapes.append(try shape("Habit", "", offset: 1))
        let query = BoundQuery(entity: 0)
        shapes.append(QueryShape(.count, query))
        shapes.append(QueryShape(.rows, BoundQuery(entity: 0, projection: [0])))
        shapes.append(QueryShape(.rows, BoundQuery(entity: 0, projection: [1])))
        shapes += [QueryShape(.record, entity: 0), QueryShape(.record, entity: 1), QueryShape(.preparation, entity: 0)]
        #expect(Set(shapes).count == shapes.count)
    }

    @Test func itIsTheSameInEveryProcess() throws {
        let found = try shape("Habit", "streak >= 7", sort: ["-streak"], limit: 10).key
        #expect(found == 11_912_010_836_262_931_687)
    }
}
