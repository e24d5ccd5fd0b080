import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import ShadowVerifier

/// Random queries of every kind: those in a query file, conditions over the whole language, and records by identifier.
struct SoakQuestions {
    private var random: SeededGenerator
    private var filters: RandomFilters
    private let queries: [RecordQuery]

    init(about data: FuzzData, queries: [RecordQuery], seed: UInt64) {
        random = SeededGenerator(seed: seed)
        filters = RandomFilters(about: data, seed: seed &+ 1)
        self.queries = queries
    }

    /// Runs some queries. A failure that is due to the query itself counts as an answer.
    mutating func ask(_ transaction: any ReadTransaction, count: Int) throws {
        for _ in 0..<count {
            do {
                try ask(transaction)
            } catch let error as HabitStoreError where error.code == .evaluationFailed {
                continue
            }
        }
    }

    private mutating func ask(_ transaction: any ReadTransaction) throws {
        let turn = Int.random(in: 0..<10, using: &random)
        if turn < 3, let query = queries.randomElement(using: &random) {
            if Bool.random(using: &random) {
                _ = try transaction.records(query)
            } else {
                _ = try transaction.countRecords(query)
            }
            return
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0..<3: try ask(transaction, Habit.self, 0, [SortDescriptor(\.name), SortDescriptor(\.streak)])
        case 3..<6: try ask(transaction, Entry.self, 1, [SortDescriptor(\.date, order: .reverse)])
        case 6: try ask(transaction, Tag.self, 2, [SortDescriptor(\.name)])
        default: try ask(transaction, Draft.self, 3, [SortDescriptor(\.creationDate)])
        }
    }

    private mutating func ask<M: PersistentModel>(
        _ transaction: any ReadTransaction,
        _ type: M.Type,
        _ number: Int,
        _ order: [SortDescriptor<M>]
    ) throws {
        if Int.random(in: 0..<4, using: &random) == 0 {
            let count = [SoakRecords.habits, SoakRecords.entries, SoakRecords.tags, SoakRecords.drafts][number]
            let id = SoakRecords.id(UInt8(number + 1), .random(in: 0..<count, using: &random))
            _ = try transaction.model(type, id: id)
            return
        }
        let entity = try transaction.schema.position(of: type)
        var descriptor = FetchDescriptor<M>(
            filter: Bool.random(using: &random) ? .always : filters.next(entity: entity),
            sortBy: Bool.random(using: &random) ? order : [],
            fetchLimit: Bool.random(using: &random) ? nil : .random(in: 0...30, using: &random),
            fetchOffset: Bool.random(using: &random) ? 0 : .random(in: 0...10, using: &random)
        )
        switch Int.random(in: 0..<6, using: &random) {
        case 0: _ = try transaction.fetchCount(descriptor)
        case 1: _ = try transaction.fetchIdentifiers(descriptor)
        case 2:
            let page = try transaction.fetchPage(descriptor, size: 5)
            descriptor.cursor = page.next
            if page.next != nil { _ = try transaction.fetchPage(descriptor, size: 5) }
        case 3:
            var left = Int.random(in: 1...8, using: &random)
            try transaction.enumerate(descriptor) { _ in
                left -= 1
                return left > 0
            }
        default: _ = try transaction.fetch(descriptor)
        }
    }
}
