import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

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
            try copy(source, into: target)
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

    static func copy(_ source: any EngineBackedStore, into target: any EngineBackedStore) throws {
        try source.replicaRead { moment in
            try target.replicate { transaction in
                for entity in source.schema.entities.indices {
                    try moment.enumerate(entity: entity, after: nil) { id, record in
                        try transaction.put(entity: entity, id: id, record)
                        return true
                    }
                }
                let information = try moment.information()
                try transaction.adopt(lineage: information.lineage, floor: information.token)
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
