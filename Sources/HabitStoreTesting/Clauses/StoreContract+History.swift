import Foundation
import HabitStore
import HabitTracker
import Synchronization

extension StoreContract {
    static let historyClauses: [Clause] = [
        Clause("tokens rise without gaps, and refused transactions take none") { bench in
            let store = try bench.habits()
            try expectEqual(try store.currentToken(), .zero, "the first token")
            for number in 1...20 {
                if number % 3 == 0 {
                    try expectError(.danglingReference) { try store.save(Entry(habitID: UUID())) }
                }
                try store.save(Tag(name: "\(number)"))
                try expectEqual(try store.currentToken().rawValue, Int64(number), "the token")
            }
            let history = try store.fetchHistory(after: .zero)
            try expectEqual(history.map(\.token.rawValue), Array(1...20), "the tokens of the history")
            let tail = try store.fetchHistory(after: HistoryToken(rawValue: 17)).map(\.token.rawValue)
            try expectEqual(tail, [18, 19, 20], "the tokens after 17")
            let limited = try store.fetchHistory(after: HistoryToken(rawValue: 5), limit: 2).map(\.token.rawValue)
            try expectEqual(limited, [6, 7], "two tokens after 5")
            try expectEqual(try store.fetchHistory(after: .zero, limit: 0), [], "no transactions")
            try expectEqual(
                try store.fetchHistory(after: HistoryToken(rawValue: 99)),
                [],
                "the history after a future token"
            )
        },
        Clause("a history transaction has its author, time and changes in the order of first touch") { bench in
            let clock = Mutex(Date(timeIntervalSinceReferenceDate: 1_000.125))
            let store = try bench.open(HabitSchema.current, clock: { clock.withLock { $0 } })
            let (tag, habit) = (Tag(name: "t"), Habit(name: "h"))
            try store.write(author: "caf\u{e9} \u{1f600}") { transaction in
                try transaction.insert(habit)
                try transaction.insert(tag)
            }
            clock.withLock { $0 = Date(timeIntervalSinceReferenceDate: -5.5) }
            try store.write { try $0.delete(tag) }
            let history = try store.fetchHistory(after: .zero)
            let expected = [
                HistoryTransaction(
                    token: HistoryToken(rawValue: 1),
                    timestamp: Date(timeIntervalSinceReferenceDate: 1_000.125),
                    author: "caf\u{e9} \u{1f600}",
                    changes: [
                        HistoryChange(entity: "Habit", id: habit.id, kind: .insert),
                        HistoryChange(entity: "Tag", id: tag.id, kind: .insert),
                    ]
                ),
                HistoryTransaction(
                    token: HistoryToken(rawValue: 2),
                    timestamp: Date(timeIntervalSinceReferenceDate: -5.5),
                    author: nil,
                    changes: [
                        HistoryChange(entity: "Tag", id: tag.id, kind: .delete(tombstone: ["name": .string("t")]))
                    ]
                ),
            ]
            try expectEqual(history, expected, "the history")
        },
        Clause("pruned history is expired, and the rest continues") { bench in
            let store = try bench.habits()
            for number in 1...10 { try store.save(Tag(name: "\(number)")) }
            try store.pruneHistory(through: HistoryToken(rawValue: 6))
            try expectError(.historyExpired) { try store.fetchHistory(after: HistoryToken(rawValue: 5)) }
            let rest = try store.fetchHistory(after: HistoryToken(rawValue: 6)).map(\.token.rawValue)
            try expectEqual(rest, [7, 8, 9, 10], "the tokens that are left")
            try expectEqual(try store.information().historyFloor.rawValue, 6, "the floor")
            try store.pruneHistory(through: HistoryToken(rawValue: 3))
            try expectEqual(try store.information().historyFloor.rawValue, 6, "the floor does not sink")
            try store.pruneHistory(through: HistoryToken(rawValue: 1_000))
            try expectEqual(try store.information().historyFloor.rawValue, 10, "the floor ends at the token")
            try expectEqual(try store.currentToken().rawValue, 10, "the token after pruning everything")
            try store.save(Tag(name: "next"))
            try expectEqual(try store.currentToken().rawValue, 11, "the next token")
            let last = try store.fetchHistory(after: HistoryToken(rawValue: 10)).map(\.token.rawValue)
            try expectEqual(last, [11], "the history after pruning")
            try expectEqual(try store.check { _ in }, [], "the findings of a check")
        },
        Clause("the effects of delete rules are in the history") { bench in
            let store = try bench.contract()
            let hub = Hub()
            var items = (0..<2).map { _ in Item() }
            items[0].cascadingHubID = hub.id
            items[1].nullifiedHubID = hub.id
            let stored = items
            try store.write { transaction in
                try transaction.insert(hub)
                try stored.forEach(transaction.insert)
            }
            try store.write(author: "x") { try $0.delete(hub) }
            let transaction = try require(
                try store.fetchHistory(after: HistoryToken(rawValue: 1)).first,
                "the deletion"
            )
            let changes = Dictionary(uniqueKeysWithValues: transaction.changes.map { ($0.id, $0.kind) })
            let expected: [UUID: HistoryChange.Kind] = [
                hub.id: .delete(tombstone: [:]),
                items[0].id: .delete(tombstone: [:]),
                items[1].id: .update(updatedAttributes: ["nullifiedHubID"]),
            ]
            try expectEqual(changes, expected, "the changes")
            try expectEqual(transaction.author, "x", "the author")
        },
    ]

    static let netChangeClauses: [Clause] = [
        Clause("an update names the attributes whose values changed") { bench in
            let store = try bench.habits()
            var habit = Habit(name: "a", streak: 1)
            try store.save(habit)
            (habit.name, habit.category, habit.target) = ("b", "c", 0)
            try store.save(habit)
            (habit.category, habit.target) = (nil, -0.0)
            try store.save(habit)
            let kinds = try store.fetchHistory(after: .zero).flatMap(\.changes).map(\.kind)
            let expected: [HistoryChange.Kind] = [
                .insert, .update(updatedAttributes: ["name", "category", "target"]),
                .update(updatedAttributes: ["category"]),
            ]
            try expectEqual(kinds, expected, "the changes")
        },
        Clause("a transaction that changes nothing takes no token") { bench in
            let store = try bench.habits()
            let habit = Habit(name: "\u{e9}", target: 0)
            try store.save(habit)
            try store.save(habit)
            var same = habit
            (same.name, same.target) = ("e\u{301}", -0.0)
            let equal = same
            try store.save(equal)
            try store.write { _ in }
            try store.write { transaction in
                let tag = Tag(name: "in and out")
                try transaction.insert(tag)
                try transaction.delete(tag)
                var changed = habit
                changed.name = "other"
                try transaction.save(changed)
                try transaction.save(habit)
                try transaction.delete(habit)
                try transaction.insert(habit)
                try transaction.delete(Tag.self, id: UUID())
            }
            try expectEqual(try store.currentToken().rawValue, 1, "the token")
            try expectEqual(try store.fetchHistory(after: .zero).count, 1, "the number of transactions")
            try expectEqual(try store.all(Habit.self), [habit], "the records")
        },
        Clause("the history holds net changes", holdsNetChanges),
    ]

    private static func holdsNetChanges(_ bench: ContractBench) throws {
        let store = try bench.habits()
        let tags = (0..<4).map { Tag(name: "\($0)") }
        try store.insert(tags)
        let new = Tag(name: "new")
        try store.write { transaction in
            var changed = new
            try transaction.insert(new)
            changed.name = "newer"
            try transaction.save(changed)
            // Deleted and stored again with another value: an update.
            try transaction.delete(tags[0])
            changed = tags[0]
            changed.name = "again"
            try transaction.insert(changed)
            // Changed and deleted: a deletion, with the values from before the transaction.
            changed = tags[1]
            changed.name = "changed"
            try transaction.save(changed)
            try transaction.delete(changed)
            // Changed twice: an update.
            changed = tags[2]
            changed.name = "once"
            try transaction.save(changed)
            changed.name = "twice"
            try transaction.save(changed)
            // Changed back: nothing. Deleted, inserted again and deleted: a deletion.
            changed = tags[3]
            changed.name = "away"
            try transaction.save(changed)
            try transaction.save(tags[3])
            try transaction.delete(tags[3])
            try transaction.insert(tags[3])
            try transaction.delete(tags[3])
        }
        let changes = try require(try store.fetchHistory(after: HistoryToken(rawValue: 1)).first, "the transaction")
            .changes
        let expected = [
            HistoryChange(entity: "Tag", id: new.id, kind: .insert),
            HistoryChange(entity: "Tag", id: tags[0].id, kind: .update(updatedAttributes: ["name"])),
            HistoryChange(entity: "Tag", id: tags[1].id, kind: .delete(tombstone: ["name": .string("1")])),
            HistoryChange(entity: "Tag", id: tags[2].id, kind: .update(updatedAttributes: ["name"])),
            HistoryChange(entity: "Tag", id: tags[3].id, kind: .delete(tombstone: ["name": .string("3")])),
        ]
        try expectEqual(changes, expected, "the changes")
        let entry = Entry(date: Date(timeIntervalSinceReferenceDate: 7), note: "private", value: 1, habitID: nil)
        try store.save(entry)
        try store.delete(entry)
        let last = try require(try store.fetchHistory(after: HistoryToken(rawValue: 3)).first, "the deletion")
        let tombstone: [String: Value] = ["date": .date(entry.date), "habitID": .null]
        try expectEqual(last.changes.map(\.kind), [.delete(tombstone: tombstone)], "the tombstone")
    }
}
