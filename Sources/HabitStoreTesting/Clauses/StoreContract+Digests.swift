import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

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
            try copy(source, into: target)
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
