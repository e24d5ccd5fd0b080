import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let durabilityClauses: [Clause] = [
        Clause("writes are still there when the store is reopened") { bench in
            guard bench.subject.isDurable else { return }
            let identity = UUID()
            let specimens = [fullSpecimen()] + oddTexts.map { Specimen($0) }
            let first = try bench.open(ContractSchema.schema, identity: identity)
            try first.write(author: "first") { transaction in try specimens.forEach(transaction.insert) }
            let information = try first.information()
            let history = try first.fetchHistory(after: .zero)
            first.close()
            let second = try bench.open(ContractSchema.schema, identity: UUID())
            let expected = specimens.sorted { $0.id.isBefore($1.id) }
            try expectEqual(try second.all(Specimen.self).map(\.id), expected.map(\.id), "the identifiers")
            for (found, specimen) in zip(try second.all(Specimen.self), expected) {
                try expectEqual(found, specimen, "a record")
            }
            try expectEqual(try second.information(), information, "the information")
            try expectEqual(information.storeID, identity, "the identity")
            try expectEqual(try second.fetchHistory(after: .zero), history, "the history")
            try second.save(Specimen("more"))
            try expectEqual(try second.currentToken().rawValue, 2, "the token")
            try expectEqual(try second.check { _ in }, [], "the findings of a check")
        },
        Clause("a backup is a store with the same contents") { bench in
            let store = try bench.habits()
            try store.insert((0..<30).map { Tag(name: "\($0)") })
            guard let path = store.path, bench.subject.isDurable else {
                try expectError(.unsupported) { try store.backup(to: NSTemporaryDirectory() + UUID().uuidString) }
                return
            }
            let target = URL(fileURLWithPath: path).deletingLastPathComponent()
                .appendingPathComponent("backup-\(UUID().uuidString)").path
            try store.backup(to: target)
            try expect(FileManager.default.fileExists(atPath: target), "a file exists at the backup's path")
            do {
                try store.backup(to: target)
                throw ContractViolation("a backup replaced an existing file")
            } catch is HabitStoreError {}
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 30, "the number of tags")
        },
        Clause("a closed store refuses every operation; closing it twice is allowed") { bench in
            let store = try bench.habits()
            try store.save(Tag(name: "x"))
            store.close()
            store.close()
            try expectError(.closed) { try store.all(Tag.self) }
            try expectError(.closed) { try store.save(Tag(name: "y")) }
            try expectError(.closed) { try store.currentToken() }
            try expectError(.closed) { try store.check { _ in } }
            try expectError(.closed) { try store.replicaRead { try $0.information() } }
            try expectError(.closed) { try store.replicate { try $0.setBackfillState(nil) } }
        },
        Clause("a schema that contradicts itself is refused") { bench in
            try expectError(.schemaMismatch) { try bench.open(Schema([Draft.self, OtherDraft.self])) }
            try expectError(.schemaMismatch, entity: "Leaf") { try bench.open(Schema([Leaf.self])) }
        },
        Clause("a store of another schema version is refused") { bench in
            guard bench.subject.isDurable else { return }
            try bench.habits().close()
            let models: [any PersistentModel.Type] = [Habit.self, Entry.self, Tag.self, Draft.self]
            try expectError(.newerVersion) { try bench.open(Schema(models, version: .init(2, 9, 9))) }
            try expectError(.migrationRequired) { try bench.open(Schema(models, version: .init(3, 0, 1))) }
            try bench.habits().close()
        },
        Clause("a store whose entity has a different layout is refused by name") { bench in
            guard bench.subject.isDurable else { return }
            let store = try bench.habits()
            try store.save(Draft(content: "x"))
            store.close()
            let version = HabitSchema.current.version
            try expectError(.schemaMismatch, entity: "Draft") {
                try bench.open(Schema([OtherDraft.self], version: version))
            }
            let larger = Schema(
                [Habit.self, Entry.self, Tag.self, Draft.self, Hub.self, Item.self, Badge.self],
                version: version
            )
            try expectError(.schemaMismatch, entity: "Hub") { try bench.open(larger) }
            let again = try bench.habits()
            try expectEqual(try again.fetchCount(FetchDescriptor<Draft>()), 1, "the number of drafts")
        },
    ]
}
