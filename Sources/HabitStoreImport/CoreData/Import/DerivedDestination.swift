import Foundation
@_spi(Engines) import HabitStore

/// A store of a derived schema, which equals its source and has the source's history.
final class DerivedDestination: ImportDestination {
    private let target: any ReplicableStore
    private let work: ImportWork
    private let carrier: HistoryCarrier
    private var file: CoreDataFile { work.file }
    private var plan: CoreDataPlan { work.plan }

    private static let batchSize = 1_000

    init(_ target: any ReplicableStore, _ work: ImportWork) {
        (self.target, self.work) = (target, work)
        carrier = HistoryCarrier(work.plan, work.file, work.resolver)
    }

    func position() throws -> SourcePosition? { try CoreDataTarget.position(in: target, of: file) }

    func require(_ position: SourcePosition?) throws {
        guard let position else {
            if try BulkLoad.isPossible(in: target) { return }
            throw HabitStoreError(
                .notAuthoritative,
                "the store holds records that do not come from this Core Data file; import into a new store",
                at: .init(path: (target as? any MaintainableStore)?.path)
            )
        }
        guard position.model != file.modelHash else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "the app has migrated the file to another version of its model since it was imported, which may give all records "
                + "new keys; import it into a new store",
            at: .init(path: file.path)
        )
    }

    func importAll(_ position: SourcePosition?, _ progress: (Int, Int) throws -> Void) throws {
        if position == nil { try fill(progress) } else { try compareAll(progress) }
    }

    func finish() {}

    // MARK: First import

    /// Imports everything into an empty target.
    ///
    /// Records come first, in batches that leave no trace in the target's history. No reader is served from the target until the last
    /// transaction, which adds the history and the position; an interrupted import starts again from the beginning.
    private func fill(_ progress: (Int, Int) throws -> Void) throws {
        var filling = try BulkLoad(target)
        var untold: [Int: SpilledIdentifiers] = [:]
        var told: SeenKeys?
        var batch: BulkLoad.Batch = []
        try work.forEachRecord(progress) { entity in
            told = try SeenKeys(file, root: entity.source.root)
            if untold[entity.target] == nil { untold[entity.target] = SpilledIdentifiers() }
        } _: { made in
            guard let record = made.record else { return }
            batch.append((made.plan.target, made.id, record))
            work.report.note(made.plan.source.name) { $0.inserted += 1 }
            if try told?.contains(made.key) != true { try untold[made.plan.target]?.append(made.id) }
            guard batch.count >= BulkLoad.batch else { return }
            try work.attachment?.flush()
            try filling.put(batch)
            batch = []
        }
        let position = SourcePosition(file, identities: plan.identities)
        try work.attachment?.flush()
        try filling.finish(batch) { transaction in
            try write(position, to: transaction)
            let source = plan.source.map {
                HistoryChange(entity: plan.schema.entities[$0].name, id: position.id, kind: .insert)
            }
            try BulkLoad.tell(
                untold,
                and: [source].compactMap { $0 },
                author: work.options.author,
                at: work.options.now(),
                plan.schema,
                transaction
            )
            try carryHistory(transaction)
            try work.attachment?.flush()
            try progress(work.total, work.total)
        }
        try work.options.didCommit?(position.transaction)
    }

    private func carryHistory(_ transaction: any ReplicaTransaction) throws {
        try file.enumerateHistory { source, changes in
            let carried = try carrier.carried(changes) { _, _ in nil }
            try append(source, carried.map { carrier.change($0) }, to: transaction)
            return true
        }
    }

    // MARK: Following

    func apply(_ source: CoreDataTransaction, _ changes: [CoreDataChange]) throws {
        let gone = try goneKeys(changes)
        let carried = try carrier.carried(changes) { gone[Gone(target: $0.target, key: $1)] }
        let companions = try companions(of: carried)
        try target.replicate { transaction in
            guard var position = try current(transaction), let last = position.transaction, last < source.number else {
                // Another process has applied it in the meantime.
                return
            }
            var changes: [HistoryChange] = []
            for item in carried { if let change = try apply(item, transaction) { changes.append(change) } }
            for item in companions {
                // The source's history does not record changes to companions, so they count only if a value differs.
                guard let change = try apply(item, transaction), change.kind != .update(updatedAttributes: []) else {
                    continue
                }
                changes.append(change)
            }
            position.transaction = source.number
            if source.number == file.history?.last { position.age = file.age }
            try write(position, to: transaction)
            changes.append(
                HistoryChange(
                    entity: DerivedSchema.sourceEntity,
                    id: position.id,
                    kind: .update(updatedAttributes: ["transaction"])
                )
            )
            try work.attachment?.flush()
            try append(source, changes, to: transaction)
        }
    }

    /// A record that the source no longer has.
    struct Gone: Hashable {
        let target: Int
        let key: Int64
    }

    /// The target's identifiers for keys that the source no longer has.
    private func goneKeys(_ changes: [CoreDataChange]) throws -> [Gone: UUID] {
        var wanted: [Gone] = []
        for change in changes {
            guard let entity = plan.entity(number: change.entity),
                try file.entityNumber(of: change.key, in: entity.source.table) == nil
            else { continue }
            wanted.append(Gone(target: entity.target, key: change.key))
        }
        guard !wanted.isEmpty else { return [:] }
        var result: [Gone: UUID] = [:]
        try target.read { transaction in
            for gone in Set(wanted) {
                let query = RecordQuery(
                    entity: plan.schema.entities[gone.target].name,
                    filter: .compare(.equal, .attribute(AttributePath("coreDataKey")), .literal(.int(gone.key))),
                    limit: 1
                )
                try transaction.enumerateRecords(query) { record in
                    result[gone] = record.id
                    return false
                }
            }
        }
        return result
    }

    private func current(_ transaction: any ReplicaTransaction) throws -> SourcePosition? {
        guard let entity = plan.source else { return nil }
        let id = SourcePosition(file, identities: [:]).id
        return try transaction.record(entity: entity, id: id).map {
            try SourcePosition($0.values(plan.schema.entities[entity].layout))
        }
    }

    /// Applies one change; nil if the record was never in the target.
    private func apply(_ item: HistoryCarrier.Carried, _ transaction: any ReplicaTransaction) throws -> HistoryChange? {
        let before = try transaction.record(entity: item.entity.target, id: item.id)
        guard let (row, maker) = try work.row(item.change.key, in: item.entity.source.table) else {
            // Inserted and deleted between two imports, or deleted by this change.
            guard item.change.kind == .delete else { return nil }
            if before != nil {
                try transaction.remove(entity: item.entity.target, id: item.id)
                work.report.deleted += 1
            }
            return carrier.change(item)
        }
        if item.change.kind == .delete { return nil }
        let made = try work.make(row, maker)
        guard let record = made.record else { return nil }
        try transaction.put(entity: item.entity.target, id: made.id, record)
        let change = try change(from: before, to: record, of: made)
        count(change, made)
        return change
    }

    private func count(_ change: HistoryChange, _ made: RecordMaker.Made) {
        work.report.note(made.plan.source.name) { entity in
            if change.kind == .insert { entity.inserted += 1 }
            if case .update(let names) = change.kind, !names.isEmpty { entity.updated += 1 }
        }
    }

    private func change(
        from before: EncodedRecord?,
        to record: EncodedRecord,
        of made: RecordMaker.Made
    ) throws -> HistoryChange {
        let entity = plan.schema.entities[made.plan.target]
        let kind = try before.map {
            HistoryChange.Kind.update(updatedAttributes: try Self.differences($0, record, entity))
        }
        return HistoryChange(entity: entity.name, id: made.id, kind: kind ?? .insert)
    }

    /// The names of the attributes in which two records differ.
    static func differences(
        _ before: EncodedRecord,
        _ after: EncodedRecord,
        _ entity: EntityDescription
    ) throws -> [String] {
        guard before != after else { return [] }
        let (old, new) = (try before.values(entity.layout), try after.values(entity.layout))
        return zip(entity.attributes, zip(old, new)).filter { $0.1.0 != $0.1.1 }.map { $0.0.name }
    }

    /// The records that may have changed along with those in a source transaction.
    private func companions(of carried: [HistoryCarrier.Carried]) throws -> [HistoryCarrier.Carried] {
        var known = Set(carried.map(\.id))
        var result: [HistoryCarrier.Carried] = []
        for item in carried {
            let found = try work.companions(of: item.change, item.entity) { try keys(leadingTo: item.id, $0) }
            for (source, key) in found {
                guard let number = try file.entityNumber(of: key, in: source.table),
                    let entity = plan.entity(number: number)
                else { continue }
                let id = try work.resolver.identifier(root: entity.source.root, key: key)
                guard known.insert(id).inserted else { continue }
                let change = CoreDataChange(number: 0, kind: .update, entity: number, key: key, tombstone: [])
                result.append(HistoryCarrier.Carried(entity: entity, id: id, change: change))
            }
        }
        return result
    }

    /// The keys of the target's records that refer to a record.
    private func keys(leadingTo id: UUID, _ rule: DependentFields.Rule) throws -> [Int64] {
        guard let place = plan.schema.entities[rule.entity.target].position(of: "coreDataKey") else { return [] }
        var keys: [Int64] = []
        try target.read { transaction in
            _ = try transaction.enumerateRecords(rule.query(leadingTo: id, plan.schema)) { record in
                if case .int(let key) = record.values[place] { keys.append(key) }
                return true
            }
        }
        return keys
    }

    // MARK: Comparing

    /// Compares every record of the source with the target's: inserts new ones, updates changed ones, and counts those missing from the
    /// source.
    private func compareAll(_ progress: (Int, Int) throws -> Void) throws {
        var seen: [Int: Set<UUID>] = [:]
        var batch: [RecordMaker.Made] = []
        try work.forEachRecord(progress) { _ in
            try bring(&batch)
        } _: { made in
            seen[made.plan.target, default: []].insert(made.id)
            batch.append(made)
            if batch.count >= Self.batchSize { try bring(&batch) }
        }
        try bring(&batch)
        try countGone(seen)
        try notePosition()
        try progress(work.total, work.total)
    }

    /// Compares the records that store the owner of a relationship without an inverse: the history does not record a change of owner if the
    /// record itself is not saved.
    func prepare(toFollow last: Int64) throws {
        let owned = plan.entities.filter { entity in
            entity.fields.contains { if case .owner = $0 { true } else { false } }
        }
        let roots = Set(
            owned.flatMap(\.fields).compactMap { field -> String? in
                if case .owner(_, let root) = field { return root }
                return nil
            }
        )
        let owners = plan.entities.filter { roots.contains($0.source.root) }.map { String($0.source.number) }
        guard !owners.isEmpty,
            try file.connection.int(
                "SELECT 1 FROM ACHANGE WHERE ZTRANSACTIONID > \(last) AND ZENTITY IN (\(owners.joined(separator: ", "))) LIMIT 1"
            ) != nil
        else { return }
        for entity in owned {
            guard let maker = work.makers[entity.source.number] else { continue }
            var batch: [RecordMaker.Made] = []
            try file.enumerate(entity.source, maker.reader) { row in
                let made = try work.make(row, maker)
                // New records arrive with the transaction that records them.
                if try isThere(made) { batch.append(made) }
                if batch.count >= Self.batchSize { try bring(&batch) }
                return true
            }
            try bring(&batch)
        }
    }

    private func isThere(_ made: RecordMaker.Made) throws -> Bool {
        try target.replicaRead { try $0.record(entity: made.plan.target, id: made.id) } != nil
    }

    /// Writes the records of a batch that differ from the target's in one transaction, and empties the batch.
    private func bring(_ batch: inout [RecordMaker.Made]) throws {
        defer { batch = [] }
        var changed: [(made: RecordMaker.Made, record: EncodedRecord, change: HistoryChange)] = []
        try target.replicaRead { replica in
            for made in batch {
                guard let record = made.record else { continue }
                let before = try replica.record(entity: made.plan.target, id: made.id)
                let change = try change(from: before, to: record, of: made)
                if change.kind != .update(updatedAttributes: []) { changed.append((made, record, change)) }
            }
        }
        try work.attachment?.flush()
        guard !changed.isEmpty else { return }
        try target.replicate { transaction in
            for item in changed { try transaction.put(entity: item.made.plan.target, id: item.made.id, item.record) }
            try append(changed.map(\.change), to: transaction)
        }
        for item in changed { count(item.change, item.made) }
        try work.options.didCommit?(nil)
    }

    private func countGone(_ seen: [Int: Set<UUID>]) throws {
        try target.replicaRead { replica in
            for entity in Set(plan.entities.map(\.target)).sorted() {
                let known = seen[entity] ?? []
                try replica.enumerate(entity: entity, after: nil) { id, _ in
                    if !known.contains(id) { work.report.gone += 1 }
                    return true
                }
            }
        }
    }

    // MARK: Position and history

    /// Stores the target's position.
    private func notePosition() throws {
        guard let entity = plan.source else { return }
        let position = SourcePosition(file, identities: plan.identities)
        let record = try position.record(plan.schema.entities[entity].layout)
        try target.replicate { transaction in
            guard let before = try transaction.record(entity: entity, id: position.id), before != record else { return }
            try write(position, to: transaction)
            let names = try Self.differences(before, record, plan.schema.entities[entity])
            let kind = HistoryChange.Kind.update(updatedAttributes: names)
            try append(
                [HistoryChange(entity: DerivedSchema.sourceEntity, id: position.id, kind: kind)],
                to: transaction
            )
        }
        try work.options.didCommit?(position.transaction)
    }

    /// Stores the target's position, within a transaction.
    private func write(_ position: SourcePosition, to transaction: any ReplicaTransaction) throws {
        guard let entity = plan.source else { return }
        let record = try position.record(plan.schema.entities[entity].layout)
        try transaction.put(entity: entity, id: position.id, record)
    }

    /// Appends a transaction made by the import itself.
    private func append(_ changes: [HistoryChange], to transaction: any ReplicaTransaction) throws {
        guard !changes.isEmpty else { return }
        try transaction.append(changes, author: work.options.author, at: work.options.now())
    }

    /// Appends a transaction of the source's history.
    private func append(
        _ source: CoreDataTransaction,
        _ changes: [HistoryChange],
        to transaction: any ReplicaTransaction
    ) throws {
        let net = HistoryCarrier.net(changes)
        if source.author?.isReplacedByNFC == true {
            work.report.replacedTexts += 1
            try work.attachment?.add(ImportedTransaction(source, [], file.model))
        }
        try transaction.append(net, author: source.author, at: source.timestamp)
        work.report.transactions += 1
        work.report.changes += net.count
        work.report.tombstones += net.filter { if case .delete = $0.kind { true } else { false } }.count
    }
}

extension ReplicaTransaction {
    /// Appends a transaction with the next token.
    func append(_ changes: [HistoryChange], author: String?, at timestamp: Date) throws {
        let token = HistoryToken(rawValue: try information().token.rawValue + 1)
        try append(HistoryTransaction(token: token, timestamp: timestamp, author: author, changes: changes))
    }
}
