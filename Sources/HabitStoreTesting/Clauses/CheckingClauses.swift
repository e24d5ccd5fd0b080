import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let checkingClauses: [Clause] = [
        Clause("a check of a healthy store finds nothing, and reports its progress") { bench in
            let store = try bench.habits()
            let tag = Tag(name: "t")
            let habit = Habit(name: "h", tagIDs: [tag.id])
            try store.insertAll([tag, habit] + (0..<50).map { Entry(note: "\($0)", habitID: habit.id) })
            try store.delete(Entry.self, where: #Predicate { $0.note == "7" })
            var progress: [Int] = []
            try expectEqual(try store.check { progress.append($0) }, [], "the findings")
            try expect(!progress.isEmpty, "the check reports its progress")
            try expectAbandoned { try store.check { _ in throw Abandoned() } }
        },
        Clause("anomalies carried over from an older store are kept and reported", reportsAnomalies),
    ]

    private static func reportsAnomalies(_ bench: ContractBench) throws {
        let store = try bench.habits()
        let (habitID, tagID, missing) = (UUID(), UUID(), UUID())
        let entryID = UUID()
        let twins = [UUID(), UUID()].sorted { $0.isBefore($1) }
        let date = Value.date(Date(timeIntervalSinceReferenceDate: 3e11))
        let habit: [Value] = [
            .uuid(habitID), .string("h"), .date(Date(timeIntervalSinceReferenceDate: 0)), .int(0), .null, .bool(false),
            .int(1), .int(1), .null, .null, .links([missing, tagID]),
        ]
        try store.replicate { transaction in
            try transaction.put(entity: 0, id: habitID, try EncodedRecord(habit, layout: Habit.entity.layout))
            try transaction.put(
                entity: 1,
                id: entryID,
                try EncodedRecord([.uuid(entryID), date, .null, .null, .uuid(missing)], layout: Entry.entity.layout)
            )
            for id in twins + [tagID] {
                let name = Value.string(id == tagID ? "other" : "twin")
                try transaction.put(entity: 2, id: id, try EncodedRecord([.uuid(id), name], layout: Tag.entity.layout))
            }
        }
        let findings = try store.check { _ in }
        try expect(findings.allSatisfy { $0.severity == .anomaly }, "anomalies are not damage: \(findings)")
        let found = Set(
            findings.map { "\($0.kind) \($0.entity ?? "") \($0.attribute ?? "") \($0.id?.uuidString ?? "")" }
        )
        let expected: Set = [
            "danglingReference Habit tags \(habitID.uuidString)", "danglingReference Entry habit \(entryID.uuidString)",
            "oddDate Entry date \(entryID.uuidString)", "duplicateUniqueValue Tag name \(twins[1].uuidString)",
        ]
        try expectEqual(found, expected, "the findings")
        try store.read { moment in
            try expectEqual(try moment.all(Tag.self).map(\.name).sorted(), ["other", "twin", "twin"], "the tags")
            let twinsByName = FetchDescriptor(predicate: #Predicate<Tag> { $0.name == "twin" })
            try expectEqual(try moment.fetchIdentifiers(twinsByName), twins, "the tags of the same name")
            let entry = try require(try moment.model(Entry.self, id: entryID), "the entry")
            try expectEqual(entry.habit, nil, "the habit that does not exist")
            let linked = try require(try moment.model(Habit.self, id: habitID), "the habit")
            try expectEqual(linked.tags.map(\.id), [tagID], "the tags that exist")
        }
        // Records with anomalies can be changed and deleted as long as no new anomaly arises.
        try store.write { transaction in
            var entry = try require(try transaction.model(Entry.self, id: entryID), "the entry")
            entry.note = "changed"
            try transaction.save(entry)
            try transaction.delete(Tag.self, id: twins[0])
        }
        try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 2, "the number of tags")
        try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: twins[1]) {
            try store.save(Tag(name: "twin"))
        }
    }
}

extension StoreContract {
    static let digestClauses: [Clause] = [
        Clause("an audit reads the same records from the file as a transaction") { bench in
            let store = try bench.contract()
            try store.insert([fullSpecimen(), Specimen("only what must be there")] + oddTexts.map { Specimen($0) })
            try requireAudited(store, "Specimen")
            let habits = try bench.open(HabitSchema.current, folder: "habits")
            try fill(habits)
            try habits.save(Draft(content: "\"\\\n", attachments: ["", "\"", "\\u0041", "\u{e9}\0", "[]"]))
            for entity in habits.schema.entities { try requireAudited(habits, entity.name) }
        },
        Clause("an audit of a range of identifiers returns only its records") { bench in
            let store = try bench.habits()
            try store.insert((0..<60).map { Draft(content: "\($0)") })
            let ids = try store.all(Draft.self).map(\.id)
            let ends = [(0, 59), (0, 0), (17, 40), (59, 59)]
            let ranges = ends.map { IdentifierRange(first: ids[$0.0], last: ids[$0.1]) }
            for range in ranges + [.all, IdentifierRange(first: ids[3], last: ids[2])] {
                let found = try audited(store, 3, range).map(\.id)
                try expectEqual(found, ids.filter(range.contains), "the audited identifiers")
            }
        },
        Clause("kept digests match the records, whatever was written and undone") { bench in
            var random = SeededGenerator(seed: 20_261_121)
            let makers: [() -> UUID] = [{ UUID() }, sequentialIdentifiers()]
            for (place, make) in makers.enumerated() {
                let store = try bench.open(HabitSchema.current, folder: "store \(place)")
                var ids: [UUID] = []
                // Enough records to split leaves: in one transaction, in several, and with a leaf that is not empty.
                for count in [1, 700, 1_900, 3_000, 40] {
                    let drafts = (0..<count).map { Draft(id: make(), content: "\($0)") }
                    try store.insert(drafts)
                    ids += drafts.map(\.id)
                    try requireKept(store)
                }
                struct Undone: Error {}
                for _ in 0..<20 {
                    ids.shuffle(using: &random)
                    let touched = Array(ids.prefix(120))
                    let undoes = Bool.random(using: &random)
                    do {
                        try store.write { transaction in
                            for id in touched.prefix(60) { try transaction.save(Draft(id: id, content: "changed")) }
                            for id in touched.suffix(60) { try transaction.delete(Draft.self, id: id) }
                            for id in touched.suffix(5) { try transaction.insert(Draft(id: id, content: "back")) }
                            if undoes { throw Undone() }
                        }
                        ids = Array(ids.dropFirst(120) + touched.prefix(60) + touched.suffix(5))
                    } catch is Undone {}
                }
                try requireKept(store)
                try store.write { for id in Set(ids) { try $0.delete(Draft.self, id: id) } }
                try requireKept(store)
            }
        },
        Clause("delete rules update the digests of the records that they change") { bench in
            let store = try bench.habits()
            try fill(store)
            for habit in try store.all(Habit.self).prefix(9) {
                try store.write { _ = try $0.delete(Habit.self, id: habit.id) }
            }
            for tag in try store.all(Tag.self).prefix(3) {
                try store.write { _ = try $0.delete(Tag.self, id: tag.id) }
            }
            try requireKept(store)
        },
        Clause("a copied store has the digests of its source") { bench in
            let source = try bench.open(HabitSchema.current, folder: "source")
            let target = try bench.open(HabitSchema.current, folder: "target")
            try fill(source)
            try source.insert((0..<2_500).map { Draft(content: "\($0)") })
            try source.copyContents(to: target, withHistory: false)
            try requireKept(target)
            for entity in source.schema.entities.indices {
                try expectEqual(try sum(target, entity), try sum(source, entity), "the digest of all records")
            }
        },
    ]

    /// Identifiers that differ only in their last bytes.
    private static func sequentialIdentifiers() -> () -> UUID {
        var number = 0
        return {
            number += 1
            return UUID(
                uuid: (
                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: number >> 8),
                    UInt8(truncatingIfNeeded: number)
                )
            )
        }
    }

    private static func audit<R>(
        _ store: any EngineBackedStore,
        _ body: (any AuditableTransaction) throws -> R
    ) throws -> R {
        try store.read { try body(try require($0 as? any AuditableTransaction, "an auditable transaction")) }
    }

    private static func audited(
        _ store: any EngineBackedStore,
        _ entity: Int,
        _ range: IdentifierRange = .all
    ) throws -> [(id: UUID, bytes: [UInt8])] {
        try audit(store) { transaction in
            let cursor = try transaction.auditCursor(entity: entity, in: range)
            var found: [(UUID, [UInt8])] = []
            while try cursor.next() { found.append((cursor.identifier, Array(cursor.canonical))) }
            return found
        }
    }

    private static func requireAudited(_ store: any EngineBackedStore, _ entity: String) throws {
        let form = CanonicalForm()
        let read = try store.read { try $0.records(RecordQuery(entity: entity)) }
        let found = try audited(store, try store.schema.position(ofEntity: entity))
        try expectEqual(found.map(\.id), read.map(\.id), "the audited identifiers")
        for (record, audited) in zip(read, found) {
            form.write(record.values)
            try expectEqual(audited.bytes, Array(form.bytes), "the canonical form of a \(entity)")
        }
    }

    private static func sum(_ store: any EngineBackedStore, _ entity: Int) throws -> RecordDigest {
        try audit(store) { transaction in
            var sum = RecordDigest()
            for leaf in try require(try transaction.keptDigests(entity: entity), "kept digests") { sum += leaf.digest }
            return sum
        }
    }

    /// Checks that the leaves partition all identifiers, and that each one is the digest of its records.
    static func requireKept(_ store: any EngineBackedStore) throws {
        for entity in store.schema.entities.indices {
            let leaves = try require(try audit(store) { try $0.keptDigests(entity: entity) }, "kept digests")
            let records = try audited(store, entity)
            var rest = records[...]
            try expectEqual(leaves.first?.first, IdentifierRange.all.first, "the first leaf")
            for leaf in leaves {
                var digest = RecordDigest()
                while let record = rest.first, leaf.range.contains(record.id) {
                    digest += record.bytes.withUnsafeBytes { RecordDigest($0) }
                    rest.removeFirst()
                }
                try expectEqual(leaf.digest, digest, "a kept digest")
                guard digest.count <= DigestLeaf.maximumCount else {
                    throw ContractViolation("a leaf holds \(digest.count) records")
                }
            }
            try expectEqual(rest.count, 0, "the records outside of all leaves")
            try expectEqual(leaves.last?.range.last, IdentifierRange.all.last, "the end of the last leaf")
        }
    }
}

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
