import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let writingClauses: [Clause] = [
        Clause("insert refuses an identifier that is taken, and save replaces its record") { bench in
            let store = try bench.habits()
            var habit = Habit(name: "Run", streak: 1)
            try store.insert([habit])
            habit.streak = 2
            try expectError(.uniqueViolation, entity: "Habit", attribute: "id", id: habit.id) {
                try store.insert([habit])
            }
            try expectEqual(try store.model(Habit.self, id: habit.id)?.streak, 1, "the streak after a refused insert")
            try store.save(habit)
            try expectEqual(try store.all(Habit.self), [habit], "the records")
        },
        Clause("a transaction that throws has no effect") { bench in
            let store = try bench.habits()
            let kept = Habit(name: "kept")
            try store.save(kept)
            let before = try store.currentToken()
            try expectAbandoned {
                try store.write { transaction in
                    try transaction.insert(Habit(name: "new"))
                    var changed = kept
                    changed.name = "changed"
                    try transaction.save(changed)
                    try transaction.delete(changed)
                    try transaction.insert(Tag(name: "tag"))
                    throw Abandoned()
                }
            }
            try expectEqual(try store.all(Habit.self), [kept], "the habits")
            try expectEqual(try store.all(Tag.self), [], "the tags")
            try expectEqual(try store.currentToken(), before, "the token")
            try expectEqual(try store.fetchHistory(after: before), [], "the history")
        },
        Clause("a batch is stored completely or not at all") { bench in
            let store = try bench.habits()
            try store.save(Tag(name: "taken"))
            let tags = ["a", "b", "taken", "c"].map { Tag(name: $0) }
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name") { try store.insert(tags) }
            try expectEqual(try store.all(Tag.self).map(\.name), ["taken"], "the tags")
        },
        Clause("catching a refusal inside a transaction keeps the rest of it") { bench in
            let store = try bench.habits()
            let first = Tag(name: "taken")
            try store.save(first)
            try store.write { transaction in
                try transaction.insert(Tag(name: "before"))
                try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: first.id) {
                    try transaction.insert(Tag(name: "taken"))
                }
                try transaction.insert(Tag(name: "behind"))
            }
            try expectEqual(
                try store.all(Tag.self).map(\.name).sorted(),
                ["before", "behind", "taken"],
                "the tags"
            )
        },
        Clause("deleting reports whether the record existed") { bench in
            let store = try bench.habits()
            let draft = Draft(content: "x")
            try expect(try !store.delete(draft), "a record that was never stored is not deleted")
            try store.save(draft)
            try expect(try store.delete(draft), "an existing record is deleted")
            try expect(try !store.delete(draft), "it is not deleted twice")
            try expectEqual(try store.model(Draft.self, id: draft.id), nil, "the record")
        },
        Clause("a predicate deletes exactly the records that it would fetch") { bench in
            let store = try bench.habits()
            let habits = (0..<20).map { Habit(name: "habit \($0)", streak: $0, category: $0 < 5 ? nil : "x") }
            try store.insert(habits)
            try store.save(Entry(habitID: habits[3].id))
            let count = try store.delete(Habit.self, where: #Predicate { $0.entries.isEmpty && $0.category == nil })
            try expectEqual(count, 4, "the number of deleted records")
            let left = try store.fetch(FetchDescriptor(sortBy: [SortDescriptor(\Habit.streak)])).map(\.streak)
            try expectEqual(left, [3] + Array(5..<20), "the streaks that are left")
            let window = try store.write { transaction in
                try transaction.delete(
                    FetchDescriptor(sortBy: [SortDescriptor(\Habit.streak)], fetchLimit: 2, fetchOffset: 1)
                )
            }
            try expectEqual(window, 2, "the number of records deleted by a window")
            try expectEqual(try store.fetchCount(FetchDescriptor<Habit>()), 14, "the number of records")
        },
        Clause("a model of another schema is refused by name") { bench in
            let store = try bench.habits()
            try expectError(.unknownEntity) { try store.save(Leaf()) }
            try expectError(.unknownEntity) { try store.all(Leaf.self) }
            try expectError(.unknownEntity) { try store.fetchCount(FetchDescriptor<Leaf>()) }
        },
        Clause("one transaction can write many records") { bench in
            let store = try bench.habits()
            let drafts = (0..<1_000).map { Draft(content: "draft \($0)", attachments: ["\($0)"]) }
            try store.insert(drafts)
            try expectEqual(
                try store.all(Draft.self),
                drafts.sorted { $0.id.isBefore($1.id) },
                "the records, by identifier"
            )
        },
    ]

    static let uniquenessClauses: [Clause] = [
        Clause("a taken unique value is refused with the entity, attribute and record that has it") { bench in
            let store = try bench.habits()
            let first = Tag(name: "caf\u{e9}")
            try store.save(first)
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: first.id) {
                try store.save(Tag(name: "caf\u{e9}"))
            }
            // The same text to a person and to Swift, in different scalars.
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: first.id) {
                try store.insert([Tag(name: "cafe\u{301}")])
            }
            try store.save(Tag(name: "Caf\u{e9}"))
            try store.save(Tag(name: "cafe"))
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 3, "the number of tags")
            try expectEqual(try store.model(Tag.self, id: first.id), first, "the first record")
        },
        Clause("changing a record into a taken unique value is refused") { bench in
            let store = try bench.habits()
            let first = Tag(name: "a")
            var second = Tag(name: "b")
            try store.insert([first, second])
            second.name = "a"
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: first.id) { try store.save(second) }
            second.name = "b"
            try expectEqual(try store.model(Tag.self, id: second.id), second, "the record")
            try store.save(second)
            second.name = "c"
            try store.save(second)
            try store.save(Tag(name: "b"))
            try expectEqual(try store.all(Tag.self).map(\.name).sorted(), ["a", "b", "c"], "the names")
        },
        Clause("a unique value is free again when its record is deleted or changed, even in one transaction") {
            bench in
            let store = try bench.habits()
            var first = Tag(name: "a")
            try store.save(first)
            try store.write { transaction in
                first.name = "b"
                try transaction.save(first)
                try transaction.insert(Tag(name: "a"))
                try transaction.delete(first)
                try transaction.insert(Tag(name: "b"))
            }
            try expectEqual(try store.all(Tag.self).map(\.name).sorted(), ["a", "b"], "the names")
        },
        Clause("uniqueness does not count nil") { bench in
            let store = try bench.contract()
            var specimens = (0..<3).map { Specimen("\($0)") }
            try store.insert(specimens)
            specimens[0].code = ""
            try store.save(specimens[0])
            specimens[1].code = ""
            try expectError(.uniqueViolation, entity: "Specimen", attribute: "code", id: specimens[0].id) {
                try store.save(specimens[1])
            }
            specimens[2].serial = specimens[0].serial
            try expectError(.uniqueViolation, entity: "Specimen", attribute: "serial", id: specimens[0].id) {
                try store.save(specimens[2])
            }
        },
        Clause("long unique values that differ only at the end are different") { bench in
            let store = try bench.habits()
            let long = String(repeating: "x", count: 3_000)
            let tags = ["", "a", "b", "a\0"].map { Tag(name: long + $0) }
            try store.insert(tags)
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: tags[2].id) {
                try store.save(Tag(name: long + "b"))
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 4, "the number of tags")
        },
    ]
}

extension StoreContract {
    static let combinationClauses: [Clause] = [
        Clause("a unique combination is refused only if all of its values are equal") {
            bench in
            let store = try bench.contract()
            let first = Booking("cafe\u{301}", day: 1, guest: "Ada")
            try store.insert([first, Booking("cafe\u{301}", day: 2, guest: "Ada"), Booking("x", day: 1, guest: "Bob")])
            try expectError(.uniqueViolation, entity: "Booking", attribute: "room", id: first.id) {
                try store.save(Booking("caf\u{e9}", day: 1, guest: "Cyd"))
            }
            try expectError(.uniqueViolation, entity: "Booking", attribute: "guest", id: first.id) {
                try store.save(Booking("y", day: 1, guest: "Ada"))
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Booking>()), 3, "the number of bookings")
        },
        Clause("a record with a nil value in a combination conflicts with no other") { bench in
            let store = try bench.contract()
            var bookings = (0..<4).map { Booking("room \($0)", day: 7) }
            try store.insert(bookings)
            bookings[0].guest = ""
            try store.save(bookings[0])
            bookings[1].guest = ""
            try expectError(.uniqueViolation, entity: "Booking", attribute: "guest", id: bookings[0].id) {
                try store.save(bookings[1])
            }
            bookings[0].guest = nil
            try store.save(bookings[0])
            try store.save(bookings[1])
        },
        Clause(
            "a combination may be kept, changed and taken over from a record that gives it up, even in one transaction"
        ) {
            bench in
            let store = try bench.contract()
            var first = Booking("a", day: 1)
            try store.save(first)
            first.guest = "Ada"
            try store.save(first)
            let second = Booking("a", day: 1)
            try store.write { transaction in
                first.room = "b"
                try transaction.save(first)
                try transaction.insert(second)
                try expectError(.uniqueViolation, entity: "Booking", attribute: "room", id: first.id) {
                    try transaction.insert(Booking("b", day: 1))
                }
                try transaction.delete(second)
                try transaction.insert(Booking("a", day: 1))
            }
            try expectEqual(try store.all(Booking.self).map(\.room).sorted(), ["a", "b"], "the rooms")
        },
        Clause("duplicate combinations of an old store are carried over unchanged, and reported") { bench in
            let store = try bench.contract()
            let twice = [Booking("a", day: 1, guest: "Ada"), Booking("a", day: 1, guest: "Bob")]
            try store.replicate { replica in
                let entity = try store.schema.position(of: Booking.self)
                let layout = store.schema.entities[entity].layout
                for booking in twice {
                    let values: [Value] = [
                        .uuid(booking.id), .string(booking.room), .date(booking.day), .string(booking.guest ?? ""),
                    ]
                    try replica.put(entity: entity, id: booking.id, try EncodedRecord(values, layout: layout))
                }
            }
            let findings = try store.check { _ in }
            try expectEqual(findings.map(\.kind), ["duplicateUniqueValue"], "the check's findings")
            try expectEqual(findings.first?.severity, .anomaly, "their severity")
            try expectEqual(findings.first?.attribute, "room", "the first attribute")
        },
        Clause("random bookings never duplicate a combination") { bench in
            let store = try bench.contract()
            let seed = UInt64.random(in: 0...9_999)
            var generator = SeededGenerator(seed: seed)
            var kept: [Booking] = []
            for _ in 0..<300 {
                var booking = Booking(
                    ["a", "b", "c"].randomElement(using: &generator) ?? "a",
                    day: Int.random(in: 0..<6, using: &generator),
                    guest: ["Ada", "Bob", nil].randomElement(using: &generator) ?? nil
                )
                if Bool.random(using: &generator), let old = kept.randomElement(using: &generator) {
                    booking.id = old.id
                }
                let others = kept.filter { $0.id != booking.id }
                let isFree = !others.contains { other in
                    other.day == booking.day
                        && (other.room == booking.room || (booking.guest != nil && other.guest == booking.guest))
                }
                do {
                    try store.save(booking)
                    try expect(isFree, "a duplicate combination was accepted, seed \(seed)")
                    kept = others + [booking]
                } catch let error as HabitStoreError where error.code == .uniqueViolation {
                    try expect(!isFree, "a free combination was refused, seed \(seed)")
                }
            }
            let expected = kept.sorted { $0.id.isBefore($1.id) }
            try expectEqual(try store.all(Booking.self), expected, "the bookings, seed \(seed)")
        },
    ]
}

extension StoreContract {
    static let batchClauses: [Clause] = [
        Clause("a batch has the same result as single insertions", comesToTheSame),
        Clause("a refused batch names the first record that cannot be stored", namesTheFirst),
        Clause("a refused batch fails its transaction, even if the error is caught") { bench in
            let store = try bench.habits()
            let kept = Draft(content: "kept")
            try store.save(kept)
            let before = try store.currentToken()
            try expectError(.uniqueViolation, entity: "Draft", attribute: "id", id: kept.id) {
                try store.write { transaction in
                    try transaction.insert(Draft(content: "before"))
                    try expectError(.uniqueViolation, entity: "Draft", id: kept.id) {
                        try transaction.insert(contentsOf: [Draft(content: "new"), kept])
                    }
                    try expectError(.uniqueViolation, id: kept.id) { try transaction.all(Draft.self) }
                    try expectError(.uniqueViolation, id: kept.id) { try transaction.save(Draft(content: "behind")) }
                }
            }
            try expectEqual(try store.all(Draft.self), [kept], "the records")
            try expectEqual(try store.currentToken(), before, "the token")
        },
        Clause("the records of a batch may refer to one another, in any order") { bench in
            let store = try bench.contract()
            let parents = (0..<50).map { _ in Folder() }
            let children = parents.map { Folder(parentID: $0.id) }
            try store.write { try $0.insert(contentsOf: children + parents) }
            try expectEqual(try store.fetchCount(FetchDescriptor<Folder>()), 100, "the number of records")
            let stray = Folder(parentID: UUID())
            try expectError(.danglingReference, entity: "Folder", attribute: "parent", id: stray.id) {
                try store.write { try $0.insert(contentsOf: [Folder(), stray]) }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Folder>()), 100, "the number of records")
        },
        Clause("a batch reports its progress, and ends if its observer throws") { bench in
            let store = try bench.habits()
            var told: [Int] = []
            let drafts = (0..<2_100).lazy.map { Draft(content: "\($0)") }
            try store.write { try $0.insert(contentsOf: drafts) { told.append($0) } }
            try expectEqual(told.last, 2_100, "the last reported progress")
            try expect(
                told.count > 2 && zip(told, told.dropFirst()).allSatisfy { $0 <= $1 },
                "progress never falls: \(told)"
            )
            try expectEqual(try store.fetchCount(FetchDescriptor<Draft>()), 2_100, "the number of records")
            try expectAbandoned { try store.write { try $0.insert(contentsOf: drafts) { _ in throw Abandoned() } } }
            try expectEqual(try store.fetchCount(FetchDescriptor<Draft>()), 2_100, "the number of records")
            let token = try store.currentToken()
            try store.write { try $0.insert(contentsOf: [Draft]()) }
            try expectEqual(try store.currentToken(), token, "the token after a batch without records")
        },
        Clause("a batch may reinsert records that its transaction has deleted, which may then change them") { bench in
            let store = try bench.habits()
            var drafts = (0..<60).map { Draft(content: "\($0)") }
            try store.insert(drafts)
            let token = try store.currentToken()
            try store.write { transaction in
                for draft in drafts { try transaction.delete(draft) }
                for place in drafts.indices where place % 2 == 0 { drafts[place].content += " again" }
                try transaction.insert(contentsOf: drafts)
                try transaction.delete(drafts[1])
            }
            let changes = try store.fetchHistory(after: token).flatMap(\.changes)
            try expectEqual(changes.count, 31, "the changes")
            let updates = changes.filter { $0.kind == .update(updatedAttributes: ["content"]) }
            try expectEqual(updates.count, 30, "the updates")
            drafts.remove(at: 1)
            try expectEqual(try store.all(Draft.self), drafts.sorted { $0.id.isBefore($1.id) }, "the records")
        },
    ]

    /// Fills two stores, one record by record and one in batches: small and large batches, into empty and filled entities, with identifiers in
    /// ascending,
    /// descending and random order.
    private static func comesToTheSame(_ bench: ContractBench) throws {
        let one = try bench.open(HabitSchema.current, folder: "single")
        let other = try bench.open(HabitSchema.current, folder: "batch")
        var random = SeededGenerator(seed: 20_261_122)
        let tags = (0..<5).map { Tag(id: random.identifier(), name: "tag \($0)") }
        let habits = (0..<40).map { number in
            Habit(
                id: random.identifier(),
                name: number % 3 == 0 ? "caf\u{e9} \(number)" : "habit \(number)",
                category: number % 4 == 0 ? nil : "c\(number % 4)",
                tagIDs: Set(tags.filter { _ in random.chance(40) }.map(\.id))
            )
        }
        try both(one, other, tags)
        try both(one, other, habits)
        for (round, count) in [1, 2_300, 700, 2_500, 3].enumerated() {
            var entries = (0..<count).map { number in
                Entry(
                    id: random.identifier(),
                    date: Date(timeIntervalSinceReferenceDate: Double(random.int(0...900)) * 86_400),
                    note: random.chance(30) ? "note \(number)" : nil,
                    value: random.chance(80) ? Double(number) / 8 : nil,
                    habitID: random.chance(90) ? random.pick(habits).id : nil
                )
            }
            if round % 3 == 1 { entries.sort { $0.id.isBefore($1.id) } }
            if round % 3 == 2 { entries.sort { $1.id.isBefore($0.id) } }
            try both(one, other, entries)
        }
        try expectEqual(try other.all(Entry.self), try one.all(Entry.self), "the entries")
        try expectEqual(try other.all(Habit.self), try one.all(Habit.self), "the habits")
        for habit in habits {
            let id = habit.id
            let descriptor = FetchDescriptor<Entry>(
                predicate: #Predicate { $0.habitID == id },
                sortBy: [SortDescriptor(\.date)]
            )
            try expectEqual(try other.fetch(descriptor), try one.fetch(descriptor), "the entries of a habit")
        }
        let byDate = FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.date, order: .reverse)], fetchLimit: 500)
        try expectEqual(try other.fetch(byDate), try one.fetch(byDate), "the newest entries")
        for tag in tags {
            let id = tag.id
            let descriptor = FetchDescriptor<Habit>(predicate: #Predicate { $0.tags.contains { $0.id == id } })
            try expectEqual(try other.fetch(descriptor), try one.fetch(descriptor), "the habits of a tag")
        }
        try expectEqual(
            try other.fetchHistory(after: .zero).map(\.changes),
            try one.fetchHistory(after: .zero).map(\.changes),
            "the history"
        )
        try requireKept(other)
        try expectEqual(try other.check { _ in }, [], "the findings")
        // Records that were inserted in bulk can be changed like any others.
        try other.delete(Entry.self, where: #Predicate { ($0.value ?? 0) > 100 })
        try expectEqual(try other.check { _ in }, [], "the findings after a deletion")
    }

    private static func both<M: PersistentModel>(
        _ one: any EngineBackedStore,
        _ other: any EngineBackedStore,
        _ models: [M]
    ) throws {
        try one.write { transaction in
            for model in models { try transaction.insert(model) }
        }
        try other.write { try $0.insert(contentsOf: models) }
    }

    private static func namesTheFirst(_ bench: ContractBench) throws {
        let store = try bench.habits()
        let known = (0..<3).map { Entry(note: "known \($0)", habitID: nil) }
        try store.insert(known)
        let odd = Entry(value: .nan, habitID: nil)
        func refusal(_ entries: [Entry], _ code: HabitStoreError.Code, _ id: UUID) throws {
            try expectError(code, entity: "Entry", id: id) {
                try store.write { try $0.insert(contentsOf: entries) }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Entry>()), 3, "the number of records")
        }
        let new = (0..<9).map { Entry(note: "new \($0)", habitID: nil) }
        // The known records in each order of their identifiers.
        for (first, second) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)] {
            try refusal(new + [known[first]] + [known[second]], .uniqueViolation, known[first].id)
        }
        try refusal(new + [new[4], known[0]], .uniqueViolation, new[4].id)
        try refusal([new[0], known[0]] + new, .uniqueViolation, known[0].id)
        try refusal(new + [odd, known[0], new[1]], .invalidValue, odd.id)
        try refusal(new + [known[0], odd], .uniqueViolation, known[0].id)
        try refusal(new + [new[8], odd], .uniqueViolation, new[8].id)
        // Unique values count too, among the records of the batch as well.
        let twins = [Tag(name: "twin"), Tag(name: "other"), Tag(name: "twin")]
        try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: twins[0].id) {
            try store.write { try $0.insert(contentsOf: twins) }
        }
        try expectEqual(try store.all(Tag.self), [], "the tags")
    }
}
