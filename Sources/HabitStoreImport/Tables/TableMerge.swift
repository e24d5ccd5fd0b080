import Foundation
@_spi(Engines) import HabitStore

extension TableImport {
    /// Merges the rows into a store that has records already, in one transaction.
    ///
    /// A row is the record with its identifier, or else the first one, by identifier, that has its natural key, unless that one is another row's.
    /// What a row was once found to be, it stays. A record of the store keeps its values; one that was deleted does not come again, as far as the
    /// store's history goes back. All other rows become records by the store's rules. A second merge therefore changes nothing. All rows are in
    /// memory at once.
    ///
    /// Before the transaction commits, other code reads the file again and compares. It is told which rows are which records, and which the store
    /// says otherwise; all else it finds by itself. If the report has differences, nothing was merged.
    ///
    /// If the store's rules refuse a row, nothing is merged, unless rows may be set aside.
    ///
    /// - Parameters:
    ///   - base: the path that the names of the files next to the store begin with, as in ``fill(_:notes:progress:willTakeEffect:)``.
    ///   - willTakeEffect: called with the report right before the commit; a throw undoes the merge.
    /// - Throws: ``HabitStoreError/Code/invalidValue`` if a row is refused, and the errors of writing to the store.
    public func merge(
        into store: any ReplicableStore,
        notes base: String,
        willTakeEffect: (Report) throws -> Void = { _ in }
    ) throws -> Report {
        var report = Report(file: file.path)
        report.notes = check.notes
        report.leftOut = check.tables.filter { $0.entity == nil }
        let rows = TableRows(file, plan)
        let notes = try TableNotes(base: base, rows, of: try store.replicaRead { try $0.information().lineage })
        var merge = TableMerge(plan, rows, allowsAside: options.allowsAside)
        try merge.read(notes, &report)
        do {
            try withoutActuallyEscaping(willTakeEffect) { willTakeEffect in
                let terms = WriteTerms(
                    willBegin: { try merge.look($0) },
                    willCommit: { replica, _ in
                        try TableWitness(file, mapping, schema, merged: merge.merged).compare(replica, &report)
                        guard report.isVerified else { throw NotVerified() }
                        try notes.finish(&report)
                        try willTakeEffect(report)
                    }
                )
                try store.write(author: Self.author, under: terms) { try merge.write($0, notes, &report) }
            }
            // Only what has taken effect is remembered.
            try notes.remember(merge.matches)
        } catch is NotVerified {
            report.merged = nil
        }
        return report
    }

    private struct NotVerified: Error {}
}

/// What becomes of the rows of a file in a store that has records already.
private struct TableMerge {
    private let plan: TablePlan
    private let rows: TableRows
    /// Whether rows that the store's rules refuse are set aside.
    private let allowsAside: Bool
    private var made: [Made] = []
    /// The records that were deleted in the store.
    private var deleted: Set<Record> = []
    /// What this merge has found rows to be.
    private(set) var matches: [TableNotes.Match] = []
    /// By the mapping's tables, the first record that has each natural key.
    private var natural: [Int: [[Value]: UUID]] = [:]
    private(set) var merged = TableWitness.Merged()

    private struct Made {
        let source: Int
        let part: TablePlan.Part
        let key: [SourceValue]
        let record: TableRows.Made
    }

    private struct Record: Hashable {
        let entity: Int
        let id: UUID
    }

    private struct Item: ForeignRecord {
        /// The place of the row among those read.
        let place: Int
        let entity: Int
        let id: UUID
        let record: EncodedRecord?
        var name: String { String(place) }
    }

    init(_ plan: TablePlan, _ rows: TableRows, allowsAside: Bool) {
        (self.plan, self.rows, self.allowsAside) = (plan, rows, allowsAside)
    }

    private var schema: Schema { plan.schema }

    /// Reads the rows.
    mutating func read(_ notes: TableNotes, _ report: inout TableImport.Report) throws {
        for (index, source) in plan.sources.enumerated() {
            var entities = source.parts.map {
                TableImport.Report.Entity(table: source.table.name, entity: schema.entities[$0.entity].name)
            }
            var new: [Made] = []
            var aside: Set<TableWitness.Row> = []
            try rows.forEachRow(source) { row in
                guard let part = source.parts(of: row).parts.first,
                    let place = source.parts.firstIndex(where: { $0.index == part.index })
                else { return }
                entities[place].rows += 1
                let record = try rows.make(row, part, of: source)
                guard let record, record.isWhole else {
                    if let record {
                        aside.insert(name(record.id, source))
                    } else {
                        merged.keyless[[source.table.name.sqlName.text, entities[place].entity], default: 0] += 1
                    }
                    return try notes.add(aside: row, part, source)
                }
                entities[place].records += 1
                new.append(Made(source: index, part: part, key: rows.key(row, source), record: record))
            }
            made += new
            merged.excepted.formUnion(aside)
            report.entities += entities
            try notes.addOwnerless(source)
        }
        merged.identifiers = notes.identifiers
    }

    /// Collects what the store says of natural keys and deletions.
    mutating func look(_ replica: any ReplicaSnapshot) throws {
        let entities = Dictionary(
            schema.entities.enumerated().map { ($1.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var deleted: Set<Record> = []
        try replica.enumerateHistory(after: try replica.information().historyFloor) { transaction in
            for change in transaction.changes {
                if case .delete = change.kind, let entity = entities[change.entity] {
                    deleted.insert(Record(entity: entity, id: change.id))
                }
            }
            return true
        }
        self.deleted = deleted
        for row in made {
            let name = name(row.record.id, plan.sources[row.source])
            guard let id = merged.identifiers[name], !deleted.contains(Record(entity: row.part.entity, id: id)),
                try replica.record(entity: row.part.entity, id: id) == nil
            else { continue }
            // Nothing says what became of the record.
            merged.identifiers[name] = nil
        }
        for part in plan.sources.flatMap(\.parts) where !part.naturalKey.isEmpty {
            let layout = schema.entities[part.entity].layout
            var known: [[Value]: UUID] = [:]
            try replica.enumerate(entity: part.entity, after: nil) { id, record in
                let values = try record.values(layout)
                let key = part.naturalKey.map { values[$0] }
                if known[key] == nil { known[key] = id }
                return true
            }
            natural[part.index] = known
        }
    }

    /// Writes the rows that the store does not have.
    mutating func write(
        _ transaction: any WriteTransaction,
        _ notes: TableNotes,
        _ report: inout TableImport.Report
    ) throws {
        var result = TableImport.Report.Merged()
        try match(transaction, notes)
        var items: [Item] = []
        for (place, row) in made.enumerated() {
            let (entity, source) = (row.part.entity, plan.sources[row.source])
            let id = identifier(row.record.id, source.table.name)
            let record = try EncodedRecord(values(of: row, id), layout: schema.entities[entity].layout)
            if id != row.record.id { result.matched += 1 }
            if let there = try transaction.encodedRecord(id, entity: entity) {
                if there == record {
                    result.unchanged += 1
                } else {
                    result.differing += 1
                    try keep(row, "the store has other values", notes)
                }
            } else if deleted.contains(Record(entity: entity, id: id)) {
                result.deleted += 1
                merged.excepted.insert(name(row.record.id, source))
            } else {
                items.append(Item(place: place, entity: entity, id: id, record: record))
            }
        }
        var merge = RecordMerge<Item>(transaction)
        try merge.write(items)
        for (item, position, obstacle) in merge.obstacles {
            try keep(made[item.place], reason(item, position, obstacle), notes)
        }
        if let first = merge.refused.compactMap({ Int($0) }).min(), !allowsAside {
            let row = made[first]
            let reasons = merge.obstacles.filter { $0.item.place == first }.map { reason($0.item, $0.attribute, $0.2) }
            throw HabitStoreError(
                .invalidValue,
                "nothing is merged: the store's rules refuse \(merge.refused.count.counted("row")), first "
                    + "\(plan.sources[row.source].table.name) \(row.key.map(\.summary).joined(separator: ", ")): "
                    + "\(reasons.joined(separator: "; ")) (a \"naturalKey\" says which records are the same; with rows set aside, the others "
                    + "are merged)",
                at: .init(path: rows.file.path)
            )
        }
        for item in items where merge.refused.contains(item.name) {
            result.refused += 1
            merged.excepted.insert(name(made[item.place].record.id, plan.sources[made[item.place].source]))
        }
        for item in merge.inserted {
            let row = made[item.place]
            guard let stored = try rows.row(row.key, of: plan.sources[row.source]) else { continue }
            try notes.add(stored, row.record, row.part, plan.sources[row.source])
        }
        result.inserted = merge.inserted.count
        report.merged = result
    }

    private func reason(_ item: Item, _ position: Int, _ obstacle: RecordMerge<Item>.Obstacle) -> String {
        let attribute = schema.entities[item.entity].attributes[position].name
        return switch obstacle {
        case .taken: "another record has the same \(attribute)"
        case .missing: "\(attribute) leads to no record"
        }
    }

    /// Finds the records that rows are by their natural keys.
    private mutating func match(_ transaction: any WriteTransaction, _ notes: TableNotes) throws {
        let own = Set(made.map { Record(entity: $0.part.entity, id: $0.record.id) })
        var claimed = Set(
            made.compactMap { row in
                merged.identifiers[name(row.record.id, plan.sources[row.source])].map {
                    Record(entity: row.part.entity, id: $0)
                }
            }
        )
        for row in made where !row.part.naturalKey.isEmpty {
            let (source, key) = (plan.sources[row.source], row.part.naturalKey.map { row.record.values[$0] })
            guard merged.identifiers[name(row.record.id, source)] == nil, !key.contains(where: \.isNull),
                let id = natural[row.part.index]?[key],
                try transaction.encodedRecord(row.record.id, entity: row.part.entity) == nil
            else { continue }
            let record = Record(entity: row.part.entity, id: id)
            guard !own.contains(record), claimed.insert(record).inserted else { continue }
            merged.identifiers[name(row.record.id, source)] = id
            matches.append(.init(table: source.table.name, key: row.key, row: row.record.id, id: id))
            if let stored = try rows.row(row.key, of: source), !row.record.problems.isEmpty {
                try notes.add(stored, row.record, row.part, source)
            }
        }
    }

    /// Keeps a row that the store says otherwise, or not at all.
    private mutating func keep(_ row: Made, _ reason: String, _ notes: TableNotes) throws {
        let source = plan.sources[row.source]
        merged.excepted.insert(name(row.record.id, source))
        if let stored = try rows.row(row.key, of: source) {
            try notes.add(stored, reason, row.part, source, id: identifier(row.record.id, source.table.name))
        }
    }

    private func name(_ id: UUID, _ source: TablePlan.Source) -> TableWitness.Row {
        TableWitness.Row(table: source.table.name.sqlName, id: id)
    }

    private func identifier(_ id: UUID, _ table: String) -> UUID {
        merged.identifiers[TableWitness.Row(table: table.sqlName, id: id)] ?? id
    }

    /// The values of a row's record, with the identifiers of the records that rows are.
    private func values(of row: Made, _ id: UUID) throws -> [Value] {
        try zip(row.part.fields, row.record.values).map { field, value in
            switch (field, value) {
            case (.identifier, _): .uuid(id)
            case (.reference(_, let table), .uuid(let other)): .uuid(identifier(other, table))
            case (.links(let links), .links(let others)):
                try Value.links(others.map { identifier($0, links.leadsTo) }).normalized()
            default: value
            }
        }
    }
}
