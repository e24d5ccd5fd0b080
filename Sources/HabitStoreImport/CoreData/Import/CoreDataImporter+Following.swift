import Foundation
@_spi(Engines) import HabitStore

extension CoreDataImporter {
    /// Applies the source's transactions after `last`, each in its own transaction.
    ///
    /// The source's history says which records changed but not their values, so they get their current ones. Until the target has caught
    /// up, it can hold a later state of a record than its position says; then it equals the source.
    func follow(from last: Int64, _ progress: (Int, Int) throws -> Void) throws {
        report.mode = .followed
        let total = Int(clamping: (file.history?.last ?? last) - last)
        try compareOwned(behind: last)
        var done = 0
        try file.enumerateHistory(after: last) { source, changes in
            let gone = try goneKeys(changes)
            let carried = try carrier.carried(changes) { gone[Gone(target: $0.target, key: $1)] }
            try apply(source, carried, try companions(of: carried))
            done += 1
            try progress(done, max(done, total))
            try options.didCommit?(source.number)
            return true
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

    private func apply(
        _ source: CoreDataTransaction,
        _ carried: [HistoryCarrier.Carried],
        _ companions: [HistoryCarrier.Carried]
    ) throws {
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
            try attachment?.flush()
            try append(source, changes, to: transaction)
        }
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
        let entity = plan.schema.entities[item.entity.target]
        let before = try transaction.record(entity: item.entity.target, id: item.id)
        guard let row = try row(item) else {
            // Inserted and deleted between two imports, or deleted by this change.
            guard item.change.kind == .delete else { return nil }
            if before != nil {
                try transaction.remove(entity: item.entity.target, id: item.id)
                report.deleted += 1
            }
            return carrier.change(item)
        }
        if item.change.kind == .delete { return nil }
        guard let maker = makers[row.entity] else { return nil }
        let made = try maker.make(row.row, identity: plan.identities[item.entity.source.root])
        try account(made, of: maker.plan.source)
        guard let record = made.record else { return nil }
        try transaction.put(entity: item.entity.target, id: made.id, record)
        guard let before else {
            report.note(maker.plan.source.name) { $0.inserted += 1 }
            return HistoryChange(entity: entity.name, id: made.id, kind: .insert)
        }
        let names = try Self.differences(before, record, entity)
        if !names.isEmpty { report.note(maker.plan.source.name) { $0.updated += 1 } }
        return HistoryChange(entity: entity.name, id: made.id, kind: .update(updatedAttributes: names))
    }

    /// The source's row, with the number of its current entity.
    private func row(_ item: HistoryCarrier.Carried) throws -> (entity: Int, row: CoreDataRow)? {
        guard let number = try file.entityNumber(of: item.change.key, in: item.entity.source.table),
            let maker = makers[number],
            let row = try file.row(maker.plan.source, maker.reader, key: item.change.key)
        else { return nil }
        return (number, row)
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
}

extension CoreDataImporter {
    /// The records that may have changed along with those in a source transaction.
    func companions(of carried: [HistoryCarrier.Carried]) throws -> [HistoryCarrier.Carried] {
        var known = Set(carried.map(\.id))
        var result: [HistoryCarrier.Carried] = []
        for item in carried {
            for rule in companionRules.rules(for: item.entity.source.number, item.change.kind) {
                for key in try keys(rule, item) {
                    guard let number = try file.entityNumber(of: key, in: rule.table),
                        let entity = plan.entity(number: number)
                    else { continue }
                    let id = try resolver.identifier(root: entity.source.root, key: key)
                    guard known.insert(id).inserted else { continue }
                    let change = CoreDataChange(number: 0, kind: .update, entity: number, key: key, tombstone: [])
                    result.append(HistoryCarrier.Carried(entity: entity, id: id, change: change))
                }
            }
        }
        return result
    }

    /// The keys of the records that refer to a record, in the source and in the target's last state.
    private func keys(_ rule: DependentFields.Rule, _ item: HistoryCarrier.Carried) throws -> Set<Int64> {
        var keys: Set<Int64> = []
        let statement = try file.connection.prepare(rule.keys)
        try statement.bind(item.change.key, at: 1)
        while try statement.step() {
            if let key = statement.optionalInt(0) { keys.insert(key) }
        }
        let attribute = FilterExpression.attribute(AttributePath(rule.attribute))
        let id = FilterExpression.literal(.uuid(item.id))
        let entity = plan.schema.entities[rule.target]
        guard let place = entity.position(of: "coreDataKey") else { return keys }
        let filter: FilterExpression =
            rule.isLinks ? .text(.contains, attribute, id) : .compare(.equal, attribute, id)
        try target.read { transaction in
            _ = try transaction.enumerateRecords(RecordQuery(entity: entity.name, filter: filter)) { record in
                if case .int(let key) = record.values[place] { keys.insert(key) }
                return true
            }
        }
        return keys
    }
}

/// Finds records that may change along with another record without an entry in the source's history: a link is stored on one side and may
/// be recorded on the other; the same holds for the place in an order and for a to-many relationship without an inverse.
struct DependentFields {
    /// How to find a record's companions.
    struct Rule {
        /// The SQL query for the keys of the companions in the source; its parameter is the record's key.
        let keys: String
        let table: String
        /// The index of their entity in the target.
        let target: Int
        /// The target's attribute that leads from a companion to the record.
        let attribute: String
        /// Whether the attribute holds links rather than one reference.
        let isLinks: Bool
        /// Whether the rule only applies to deletions: the source records other changes of these companions.
        var isForDeletions = false
    }

    private var rules: [Int: [Rule]] = [:]

    init(_ plan: CoreDataPlan, _ model: CoreDataModel) {
        for entity in plan.entities {
            let attributes = plan.schema.entities[entity.target].attributes
            for (attribute, field) in zip(attributes, entity.fields) {
                switch field {
                case .links(let name): addLinks(name, attribute.name, entity, model)
                case .owner(let column, let root):
                    for owner in model.entities where owner.root == root {
                        add(column, attribute.name, entity, to: owner)
                    }
                case .reference(let name): addReference(name, attribute.name, entity, model)
                default: break
                }
            }
        }
    }

    func rules(for number: Int, _ kind: CoreDataChange.Kind) -> [Rule] {
        (rules[number] ?? []).filter { kind == .delete || !$0.isForDeletions }
    }

    private mutating func addLinks(
        _ name: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        _ model: CoreDataModel
    ) {
        guard let relationship = entity.source.relationship(name), relationship.declaredIn == entity.source.name,
            case .table(let table, let here, let there) = relationship.storage, here != "REFLEXIVE"
        else { return }
        let names = (SourceConnection.quoted(table), SourceConnection.quoted(here), SourceConnection.quoted(there))
        let rule = Rule(
            keys: "SELECT \(names.1) FROM \(names.0) WHERE \(names.2) = ?1",
            table: entity.source.table,
            target: entity.target,
            attribute: attribute,
            isLinks: true
        )
        let root = model.entity(relationship.destination)?.root
        for other in model.entities where other.root == root { rules[other.number, default: []].append(rule) }
    }

    /// Adds the rules for records that refer to a deleted one, and for records of an ordered relationship, which store their own place.
    private mutating func addReference(
        _ name: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        _ model: CoreDataModel
    ) {
        guard let relationship = entity.source.relationship(name), relationship.declaredIn == entity.source.name,
            case .column(let column, _) = relationship.storage,
            let destination = model.entity(relationship.destination)
        else { return }
        let inverse = relationship.inverse.flatMap { destination.relationship($0) }
        for owner in model.entities where owner.root == destination.root {
            add(column, attribute, entity, to: owner, isForDeletions: inverse?.orderColumn == nil)
        }
    }

    private mutating func add(
        _ column: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        to owner: CoreDataEntity,
        isForDeletions: Bool = false
    ) {
        let (name, table) = (SourceConnection.quoted(column), SourceConnection.quoted(entity.source.table))
        let sql = "SELECT Z_PK FROM \(table) WHERE \(name) = ?1"
        if rules[owner.number]?.contains(where: { $0.keys == sql && $0.attribute == attribute }) == true { return }
        rules[owner.number, default: []].append(
            Rule(
                keys: sql,
                table: entity.source.table,
                target: entity.target,
                attribute: attribute,
                isLinks: false,
                isForDeletions: isForDeletions
            )
        )
    }
}

extension CoreDataImporter {
    private static let batchSize = 1_000

    /// Compares every record of the source with the target's: inserts new ones, updates changed ones, and counts those missing from the
    /// source.
    func compareAll(_ progress: (Int, Int) throws -> Void) throws {
        report.mode = .compared
        let total = report.entities.reduce(0) { $0 + $1.records }
        var done = 0
        var seen: [Int: Set<UUID>] = [:]
        for entity in plan.entities {
            guard let maker = makers[entity.source.number] else { continue }
            var batch: [RecordMaker.Made] = []
            try file.enumerate(entity.source, maker.reader) { row in
                let made = try maker.make(row, identity: plan.identities[entity.source.root])
                try account(made, of: entity.source)
                seen[entity.target, default: []].insert(made.id)
                batch.append(made)
                done += 1
                if batch.count >= Self.batchSize {
                    try bring(batch, entity)
                    batch = []
                    try progress(done, total)
                }
                return true
            }
            try bring(batch, entity)
        }
        try countGone(seen)
        try notePosition()
        try progress(total, total)
    }

    /// Compares the records that store the owner of a relationship without an inverse: the history does not record a change of owner if the
    /// record itself is not saved.
    func compareOwned(behind last: Int64) throws {
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
            guard let maker = makers[entity.source.number] else { continue }
            var batch: [RecordMaker.Made] = []
            try file.enumerate(entity.source, maker.reader) { row in
                let made = try maker.make(row, identity: plan.identities[entity.source.root])
                // New records arrive with the transaction that records them.
                if try isThere(made.id, entity) { batch.append(made) }
                if batch.count >= Self.batchSize {
                    try bring(batch, entity)
                    batch = []
                }
                return true
            }
            try bring(batch, entity)
        }
    }

    private func isThere(_ id: UUID, _ entity: CoreDataPlan.Entity) throws -> Bool {
        try target.replicaRead { try $0.record(entity: entity.target, id: id) } != nil
    }

    private func bring(_ batch: [RecordMaker.Made], _ entity: CoreDataPlan.Entity) throws {
        let description = plan.schema.entities[entity.target]
        var changed: [(RecordMaker.Made, EncodedRecord, HistoryChange)] = []
        try target.replicaRead { replica in
            for made in batch {
                guard let record = made.record else { continue }
                guard let before = try replica.record(entity: entity.target, id: made.id) else {
                    changed.append((made, record, HistoryChange(entity: description.name, id: made.id, kind: .insert)))
                    continue
                }
                let names = try Self.differences(before, record, description)
                guard !names.isEmpty else { continue }
                let kind = HistoryChange.Kind.update(updatedAttributes: names)
                changed.append((made, record, HistoryChange(entity: description.name, id: made.id, kind: kind)))
            }
        }
        try attachment?.flush()
        guard !changed.isEmpty else { return }
        try target.replicate { transaction in
            for (made, record, _) in changed { try transaction.put(entity: entity.target, id: made.id, record) }
            try append(changed.map(\.2), to: transaction)
        }
        report.note(entity.source.name) { item in
            for change in changed { if case .insert = change.2.kind { item.inserted += 1 } else { item.updated += 1 } }
        }
        try options.didCommit?(nil)
    }

    private func countGone(_ seen: [Int: Set<UUID>]) throws {
        try target.replicaRead { replica in
            for entity in Set(plan.entities.map(\.target)).sorted() {
                let known = seen[entity] ?? []
                try replica.enumerate(entity: entity, after: nil) { id, _ in
                    if !known.contains(id) { report.gone += 1 }
                    return true
                }
            }
        }
    }

    /// Stores the target's position.
    private func notePosition() throws {
        guard let entity = plan.source else { return }
        let position = SourcePosition(file, identities: plan.identities)
        let layout = plan.schema.entities[entity].layout
        let record = try position.record(layout)
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
        try options.didCommit?(position.transaction)
    }
}

extension SourceAge {
    /// Describes a table with changes since another state that the file's history does not record; nil if the history explains all counts
    /// of records, keys and saves.
    ///
    /// - Parameter file: the file in this state.
    func untold(since then: SourceAge, _ file: CoreDataFile) throws -> String? {
        for (name, before) in then.tables.sorted(by: { $0.key < $1.key }) {
            guard let now = tables[name] else { continue }
            guard let last = then.transaction, let newest = transaction, last < newest else {
                guard (now.rows, now.highestKey, now.saves) != (before.rows, before.highestKey, before.saves) else {
                    continue
                }
                return
                    "\(name) has \(now.rows) records, of keys up to \(now.highestKey), saved \(now.saves) times, and had "
                    + "\(before.rows), \(before.highestKey) and \(before.saves)"
            }
            let told = try toldChanges(of: name, since: last, file)
            let (here, there) = (Int(now.rows) - told.here, Int(before.rows) - told.before)
            guard here != there else { continue }
            return "\(name) has \(here) records that no new transaction mentions, and had \(there)"
        }
        return nil
    }

    /// Of the records that transactions after `last` mention, the number that exist now and the number that existed before.
    private func toldChanges(
        of table: String,
        since last: Int64,
        _ file: CoreDataFile
    ) throws -> (here: Int, before: Int) {
        let numbers = file.model.entities.filter { $0.table == table }.map { String($0.number) }.joined(separator: ", ")
        // With `min`, SQLite takes the other columns from the row with the minimum.
        let first =
            "SELECT ZENTITYPK AS key, ZCHANGETYPE AS kind, min(Z_PK) FROM ACHANGE "
            + "WHERE ZTRANSACTIONID > \(last) AND ZENTITY IN (\(numbers)) AND ZENTITYPK NOT NULL GROUP BY ZENTITYPK"
        let rows = try file.connection.prepare(
            "SELECT total(key IN (SELECT Z_PK FROM \(SourceConnection.quoted(table)))), total(kind <> 0) FROM (\(first))"
        )
        guard try rows.step() else { return (0, 0) }
        return (Int(rows.optionalInt(0) ?? 0), Int(rows.optionalInt(1) ?? 0))
    }
}

extension CoreDataImportReport {
    /// The counts of values, which start over if every record is compared after the history was followed.
    struct Tally {
        let losses: [Loss]
        let odd: [Loss]
        let normalizedTexts: Int
    }

    var tally: Tally { Tally(losses: losses, odd: odd, normalizedTexts: normalizedTexts) }

    /// Reports that the history is incomplete, and discards the counts made while following it.
    mutating func compareInstead(_ untold: String, from tally: Tally) {
        (losses, odd, normalizedTexts) = (tally.losses, tally.odd, tally.normalizedTexts)
        let message =
            "the file's history does not record every change, so every record was compared: \(untold)"
        oddities.append(CoreDataOddity("historyIncomplete", message))
    }
}
