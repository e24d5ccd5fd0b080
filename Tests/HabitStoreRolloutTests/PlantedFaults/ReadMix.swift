import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import ShadowVerifier

/// The reads of the habit tracker, in an order that a seed determines: of ten read transactions, five are fetches of the file of queries, two are
/// reads by identifier, two follow a relationship, one counts.
struct ReadMix {
    let queries: [QueryFile.Query]
    let contents: PlantedContents

    /// The queries of the fixtures.
    static func queries() throws -> [QueryFile.Query] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try QueryFile.load(path: root.appendingPathComponent("fixtures/queries.json").path).queries
    }

    /// Runs one read transaction.
    func read(_ store: any HabitStore, _ random: inout SeededGenerator) throws {
        let choice = Int.random(in: 0..<10, using: &random)
        let query = queries[Int.random(in: 0..<queries.count, using: &random)]
        let number = Int.random(in: 0..<contents.entries.count, using: &random)
        try store.read { transaction in
            switch choice {
            case 0..<5: try run(query, transaction, counts: false)
            case 5: try run(query, transaction, counts: true)
            case 6: _ = try transaction.model(Entry.self, id: contents.entries[number].id)
            case 7: try readById(number, transaction)
            case 8: try walkFromHabit(number, transaction)
            default: try walkFromEntryOrTag(number, transaction)
            }
        }
    }

    private func readById(_ number: Int, _ transaction: any ReadTransaction) throws {
        switch number % 3 {
        case 0: _ = try transaction.model(Habit.self, id: contents.habits[number % contents.habits.count].id)
        case 1: _ = try transaction.model(Tag.self, id: contents.tags[number % contents.tags.count].id)
        default: _ = try transaction.model(Draft.self, id: contents.drafts[number % contents.drafts.count].id)
        }
    }

    private func walkFromHabit(_ number: Int, _ transaction: any ReadTransaction) throws {
        let id = contents.habits[number % contents.habits.count].id
        guard let habit = try transaction.model(Habit.self, id: id) else { return }
        _ = number.isMultiple(of: 2) ? habit.entries.count : habit.tags.count
    }

    private func walkFromEntryOrTag(_ number: Int, _ transaction: any ReadTransaction) throws {
        if number.isMultiple(of: 2) {
            _ = try transaction.model(Entry.self, id: contents.entries[number].id)?.habit
        } else {
            _ = try transaction.model(Tag.self, id: contents.tags[number % contents.tags.count].id)?.habits
        }
    }

    // MARK: The queries of the file, as an app runs them

    private func run(_ query: QueryFile.Query, _ transaction: any ReadTransaction, counts: Bool) throws {
        switch query.entity {
        case "Habit":
            try run(query, transaction, counts) { (name, order) -> SortDescriptor<Habit>? in
                switch name {
                case "name": SortDescriptor(\.name, order: order)
                case "streak": SortDescriptor(\.streak, order: order)
                case "category": SortDescriptor(\.category, order: order)
                case "createdAt": SortDescriptor(\.createdAt, order: order)
                default: nil
                }
            }
        case "Entry":
            try run(query, transaction, counts) { (name, order) -> SortDescriptor<Entry>? in
                switch name {
                case "date": SortDescriptor(\.date, order: order)
                case "value": SortDescriptor(\.value, order: order)
                default: nil
                }
            }
        case "Tag":
            try run(query, transaction, counts) { (name, order) -> SortDescriptor<Tag>? in
                name == "name" ? SortDescriptor(\.name, order: order) : nil
            }
        default:
            try run(query, transaction, counts) { (name, order) -> SortDescriptor<Draft>? in
                name == "creationDate" ? SortDescriptor(\.creationDate, order: order) : nil
            }
        }
    }

    private func run<M: PersistentModel>(
        _ query: QueryFile.Query,
        _ transaction: any ReadTransaction,
        _ counts: Bool,
        _ key: (String, SortOrder) -> SortDescriptor<M>?
    ) throws {
        let record = try query.recordQuery()
        let sort = try record.sort.map { sort in
            guard let key = key(sort.attribute, sort.ascending ? .forward : .reverse) else {
                throw HabitStoreError(.unknownAttribute, "the mix of reads cannot sort by \(sort.attribute)")
            }
            return key
        }
        let descriptor = FetchDescriptor<M>(
            filter: record.filter,
            sortBy: sort,
            fetchLimit: record.limit,
            fetchOffset: record.offset
        )
        if counts { _ = try transaction.fetchCount(descriptor) } else { _ = try transaction.fetch(descriptor) }
    }
}
