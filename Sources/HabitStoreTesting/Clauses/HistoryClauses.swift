import Foundation
@_spi(Engines) import HabitStore
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
            try store.insertAll([hub] + items)
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

extension StoreContract {
    static let roleClauses: [Clause] = [
        Clause("a store that is not authoritative refuses writes, and serves reads") { bench in
            let store = try bench.habits()
            try store.save(Tag(name: "x"))
            for (epoch, role) in [StoreRole.standby, .sealed].enumerated() {
                try store.replicate { try $0.setRole(role, epoch: epoch + 5) }
                try expectError(.notAuthoritative) { try store.save(Tag(name: "y")) }
                try expectError(.notAuthoritative) { try store.pruneHistory(through: HistoryToken(rawValue: 1)) }
                try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 1, "the number of tags")
                let information = try store.information()
                try expectEqual(information.role, role, "the role")
                try expectEqual(information.epoch, epoch + 5, "the epoch")
            }
            try store.replicate { try $0.setRole(.authoritative, epoch: 9) }
            try store.save(Tag(name: "y"))
            try expectEqual(try store.currentToken().rawValue, 2, "the token")
        },
        Clause("a store that is being filled serves only the copy") { bench in
            let store = try bench.habits()
            try store.save(Tag(name: "x"))
            try store.replicate { transaction in
                try transaction.setRole(.backfilling, epoch: 1)
                try transaction.setBackfillState("{\"entity\":2}")
            }
            try expectError(.notAuthoritative) { try store.save(Tag(name: "y")) }
            try expectError(.notAuthoritative) { try store.all(Tag.self) }
            try expectError(.notAuthoritative) { try store.currentToken() }
            try store.replicaRead { moment in
                try expectEqual(try moment.backfillState(), "{\"entity\":2}", "the copy's state")
                try expectEqual(try moment.information().role, .backfilling, "the role")
                try expectEqual(try moment.count(entity: 2), 1, "the number of tags")
            }
            try store.replicate { transaction in
                try transaction.setBackfillState(nil)
                try transaction.setRole(.authoritative, epoch: 2)
            }
            try expectEqual(try store.replicaRead { try $0.backfillState() }, nil, "the copy's state")
            try store.save(Tag(name: "y"))
        },
    ]

    static let replicationClauses: [Clause] = [
        Clause("replicating records and history makes a store equal") { bench in
            let source = try bench.open(HabitSchema.current, folder: "source")
            let target = try bench.open(HabitSchema.current, folder: "target")
            try fill(source)
            let token = try source.currentToken()
            try source.copyContents(to: target, withHistory: false)
            try requireEqual(source, target)
            let information = try target.information()
            try expectEqual(information.lineage, try source.information().lineage, "the lineage")
            try expectEqual(information.token, token, "the token")
            try expectEqual(information.historyFloor, token, "the floor")
            try expectError(.historyExpired) { try target.fetchHistory(after: .zero) }
            // Later writes are replicated from the history, with the same tokens.
            try source.delete(Habit.self, where: #Predicate { $0.streak % 3 == 0 })
            try source.save(Tag(name: "later"), author: "later")
            try replay(source, into: target, after: token)
            try requireEqual(source, target)
            let history = try source.fetchHistory(after: token)
            try expectEqual(try target.fetchHistory(after: token), history, "the history")
            try expectEqual(try target.check { _ in }, [], "the findings of a check")
        },
        Clause("a history transaction out of order is refused, and its transaction has no effect") { bench in
            let store = try bench.habits()
            try store.save(Tag(name: "x"))
            for number: Int64 in [0, 1, 3] {
                let transaction = HistoryTransaction(
                    token: HistoryToken(rawValue: number),
                    timestamp: Date(),
                    author: nil,
                    changes: []
                )
                try expectError(.internalInconsistency) {
                    try store.replicate { replica in
                        try replica.remove(entity: 2, id: try require(try store.all(Tag.self).first, "the tag").id)
                        try replica.append(transaction)
                    }
                }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 1, "the number of tags")
        },
        Clause("records are enumerated after any identifier, even a deleted one") { bench in
            let store = try bench.habits()
            try store.insert((0..<40).map { Draft(content: "\($0)") })
            let ids = try store.all(Draft.self).map(\.id)
            try store.replicaRead { moment in
                for start in [nil, ids[0], ids[17], ids[39], UUID()] {
                    var found: [UUID] = []
                    try moment.enumerate(entity: 3, after: start) { id, record in
                        let kept = try moment.record(entity: 3, id: id)
                        try expectEqual(kept, record, "a record")
                        found.append(id)
                        return found.count < 9
                    }
                    let expected = ids.filter { id in start.map { $0.isBefore(id) } ?? true }.prefix(9)
                    try expectEqual(found, Array(expected), "the identifiers")
                }
            }
        },
        Clause("putting and removing records is idempotent") { bench in
            let store = try bench.habits()
            let tag = Tag(name: "x")
            let record = try encoded(tag, [.uuid(tag.id), .string("x")])
            for _ in 0..<2 { try store.replicate { try $0.put(entity: 2, id: tag.id, record) } }
            try expectEqual(try store.all(Tag.self), [tag], "the tags")
            let other = try encoded(tag, [.uuid(tag.id), .string("y")])
            try store.replicate { try $0.put(entity: 2, id: tag.id, other) }
            let named = FetchDescriptor(predicate: #Predicate<Tag> { $0.name == "x" })
            try expectEqual(try store.fetchCount(named), 0, "the number of tags of the old name")
            for _ in 0..<2 { try store.replicate { try $0.remove(entity: 2, id: tag.id) } }
            try expectEqual(try store.all(Tag.self), [], "the tags")
            try expectEqual(try store.currentToken(), .zero, "the token")
        },
    ]

    private static func encoded<M: PersistentModel>(_ model: M, _ values: [Value]) throws -> EncodedRecord {
        try EncodedRecord(values, layout: M.entity.layout)
    }

    static func fill(_ store: any EngineBackedStore) throws {
        let tags = (0..<5).map { Tag(name: "tag \($0)") }
        try store.insert(tags)
        for number in 0..<20 {
            try store.write { transaction in
                let habit = Habit(name: "\u{e9} \(number)", streak: number, tagIDs: [tags[number % 5].id])
                try transaction.insert(habit)
                for _ in 0..<3 { try transaction.insert(Entry(value: Double(number) / 3, habitID: habit.id)) }
                try transaction.insert(Draft(content: "\0\(number)", attachments: ["", "a"]))
            }
        }
    }

    private static func replay(
        _ source: any EngineBackedStore,
        into target: any EngineBackedStore,
        after token: HistoryToken
    ) throws {
        try source.replicaRead { moment in
            try moment.enumerateHistory(after: token) { transaction in
                try target.replicate { replica in
                    for change in transaction.changes {
                        let entity = try source.schema.position(ofEntity: change.entity)
                        if let record = try moment.record(entity: entity, id: change.id) {
                            try replica.put(entity: entity, id: change.id, record)
                        } else {
                            try replica.remove(entity: entity, id: change.id)
                        }
                    }
                    try replica.append(transaction)
                }
                return true
            }
        }
    }

    private static func requireEqual(_ one: any EngineBackedStore, _ other: any EngineBackedStore) throws {
        try one.replicaRead { first in
            try other.replicaRead { second in
                for entity in one.schema.entities.indices {
                    try expectEqual(try second.count(entity: entity), try first.count(entity: entity), "a count")
                    try first.enumerate(entity: entity, after: nil) { id, record in
                        try expectEqual(try second.record(entity: entity, id: id), record, "a copied record")
                        return true
                    }
                }
                try expectEqual(try second.information().token, try first.information().token, "the token")
            }
        }
    }
}

extension ReplicableStore {
    /// Copies all records and the lineage into an empty store, unchanged.
    ///
    /// - Parameter withHistory: whether the history is copied, too; otherwise that of the copy starts at this store's token.
    package func copyContents(to target: any ReplicableStore, withHistory: Bool = true) throws {
        try replicaRead { from in
            try target.replicate { to in
                for entity in schema.entities.indices {
                    try from.enumerate(entity: entity, after: nil) { id, record in
                        try to.put(entity: entity, id: id, record)
                        return true
                    }
                }
                let information = try from.information()
                let floor = withHistory ? information.historyFloor : information.token
                try to.adopt(lineage: information.lineage, floor: floor)
                guard withHistory else { return }
                try from.enumerateHistory(after: floor) {
                    try to.append($0)
                    return true
                }
            }
        }
    }
}
