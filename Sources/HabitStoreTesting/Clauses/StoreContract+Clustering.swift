import Foundation
@_spi(Engines) import HabitStore

extension StoreContract {
    static let clusteringClauses: [Clause] = [
        Clause("a clustering index has the current record after every kind of write") { bench in
            let store = try bench.open(Page<ClusteredPages>.schema)
            var shelf = Shelf<ClusteredPages>(seed: 1)
            try store.insert(shelf.all)
            try shelf.require(in: store)
            for round in 0..<12 {
                try store.write { transaction in
                    for change in shelf.changes(round) { try change.apply(to: transaction) }
                    // Also inside the transaction.
                    try shelf.requireOrder { try transaction.fetch($0) }
                }
                try shelf.require(in: store)
            }
            try expectEqual(try store.check { _ in }, [], "the findings")
        },
        Clause("replicated writes update a clustering index") { bench in
            let store = try bench.open(Page<ClusteredPages>.schema)
            var shelf = Shelf<ClusteredPages>(seed: 2)
            let layout = Page<ClusteredPages>.entity.layout
            for round in 0..<6 {
                let changes = round == 0 ? shelf.all.map { Shelf.Change.save($0) } : shelf.changes(round)
                try store.replicate { transaction in
                    for change in changes {
                        switch change {
                        case .save(let page):
                            var writer = AttributeWriter(layout: layout)
                            try page.write(to: &writer)
                            let record = try writer.finish { EncodedRecord(copying: $0) }
                            try transaction.put(entity: 0, id: page.id, record)
                        case .delete(let id): try transaction.remove(entity: 0, id: id)
                        }
                    }
                }
                try shelf.require(in: store)
            }
            try expectEqual(try store.check { _ in }, [], "the findings")
        },
        Clause("an index becomes clustering, another replaces it, and none remains") { bench in
            guard bench.subject.isDurable else { return }
            var shelf = Shelf<PlainPages>(seed: 3)
            let first = try bench.open(Page<PlainPages>.schema)
            try first.insert(shelf.all)
            first.close()
            try reopen(bench, &shelf, as: ClusteredPages.self)
            try reopen(bench, &shelf, as: PagesClusteredByText.self)
            try reopen(bench, &shelf, as: ClusteredPages.self)
            try reopen(bench, &shelf, as: PlainPages.self)
        },
    ]

    /// Opens a store that was written with another declaration and continues with it.
    private static func reopen<Old, New: PageChoice>(
        _ bench: ContractBench,
        _ shelf: inout Shelf<Old>,
        as choice: New.Type
    ) throws {
        let store = try bench.open(Page<New>.schema)
        var same = Shelf<New>(shelf)
        try same.require(in: store)
        try expectEqual(try store.check { _ in }, [], "the findings")
        try store.write { transaction in
            for change in same.changes(7) { try change.apply(to: transaction) }
        }
        try same.require(in: store)
        try expectEqual(try store.check { _ in }, [], "the findings after more writes")
        store.close()
        shelf = Shelf<Old>(same)
    }
}

/// The expected pages of a store, and random changes to them.
private struct Shelf<Choice: PageChoice> {
    enum Change {
        case save(Page<Choice>)
        case delete(UUID)

        func apply(to transaction: any WriteTransaction) throws {
            switch self {
            case .save(let page): try transaction.save(page)
            case .delete(let id): try transaction.delete(Page<Choice>.self, id: id)
            }
        }
    }

    private var pages: [UUID: Page<Choice>] = [:]
    private var random: SeededGenerator
    private let books: [UUID?]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        books = [nil, random.identifier(), random.identifier()]
        for _ in 0..<60 {
            let page = randomPage(random.identifier())
            pages[page.id] = page
        }
    }

    init<Other>(_ shelf: Shelf<Other>) {
        (random, books) = (shelf.random, shelf.books)
        pages = shelf.pages.mapValues { Page<Choice>($0) }
    }

    var all: [Page<Choice>] { pages.values.sorted { $0.id.isBefore($1.id) } }

    private mutating func randomPage(_ id: UUID) -> Page<Choice> {
        var page = Page<Choice>()
        page.id = id
        page.bookID = random.pick(books)
        page.number = random.int(-3...5)
        page.text = randomText()
        page.mark = random.chance(50) ? nil : Double(random.int(0...8))
        page.linkIDs = Set((0..<random.int(0...2)).map { _ in random.identifier() })
        return page
    }

    /// Sometimes longer than what an index copies, and sometimes exactly as long.
    private mutating func randomText() -> String {
        String(repeating: random.pick(["a", "é", "z"]), count: random.pick([3, 20, 900, 960, 1_024, 3_000]))
    }

    /// Changes of keys, of the values after the keys, and of both; new pages and removed ones.
    mutating func changes(_ round: Int) -> [Change] {
        var changes: [Change] = []
        for page in all where random.chance(25) {
            var changed = page
            switch random.int(0...5) {
            case 0:
                pages[page.id] = nil
                changes.append(.delete(page.id))
                continue
            case 1: changed.number += 1
            case 2: changed.text = randomText()
            case 3: changed.linkIDs.insert(random.identifier())
            case 4: changed.mark = Double(round)
            default: changed = randomPage(page.id)
            }
            pages[page.id] = changed
            changes.append(.save(changed))
        }
        let new = randomPage(random.identifier())
        pages[new.id] = new
        return changes + [.save(new)]
    }

    func require(in store: any EngineBackedStore) throws {
        try requireOrder { try store.fetch($0) }
        try expectEqual(try store.all(Page<Choice>.self), all, "the pages by identifier")
        for page in all.prefix(5) {
            try expectEqual(try store.model(Page<Choice>.self, id: page.id), page, "a page")
        }
        let few = FetchDescriptor<Page<Choice>>(filter: try FilterExpression(text: "number >= 1 AND mark >= 3.0"))
        let marked = all.filter { $0.number >= 1 && $0.mark.map { $0 >= 3 } ?? false }
        try expectEqual(try store.fetchCount(few), marked.count, "the number of marked pages")
    }

    /// Checks the pages of each book in both orders, whole and in part.
    func requireOrder(_ fetch: (FetchDescriptor<Page<Choice>>) throws -> [Page<Choice>]) throws {
        for book in books {
            let inOrder = all.filter { $0.bookID == book }
            let condition = "bookID == \(book.map { "\"\($0.uuidString)\"" } ?? "nil")"
            for order in [SortOrder.forward, .reverse] {
                let sort = [SortDescriptor(\Page<Choice>.number, order: order)]
                let expected = inOrder.sorted { left, right in
                    left.number == right.number
                        ? left.id.isBefore(right.id) : (left.number < right.number) == (order == .forward)
                }
                var descriptor = FetchDescriptor<Page<Choice>>(
                    filter: try FilterExpression(text: condition),
                    sortBy: sort
                )
                try expectEqual(try fetch(descriptor), expected, "the pages of a book")
                (descriptor.fetchOffset, descriptor.fetchLimit) = (2, 4)
                try expectEqual(try fetch(descriptor), Array(expected.dropFirst(2).prefix(4)), "some of its pages")
            }
            let range = FetchDescriptor<Page<Choice>>(
                filter: try FilterExpression(text: condition + " AND number >= 0 AND number < 3 AND mark != nil")
            )
            let expected = inOrder.filter { (0..<3).contains($0.number) && $0.mark != nil }
                .sorted { $0.id.isBefore($1.id) }
            try expectEqual(try fetch(range), expected, "the marked pages of a range")
        }
    }
}
