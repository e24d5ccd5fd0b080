import Foundation

/// A write transaction over an engine: uniqueness, references, delete rules and history.
final class EngineWriteTransaction<Writer: EngineWriter>: EngineReadTransaction<Writer>, WriteTransaction {
    /// The last token whose history may be forgotten; nil for all.
    var pruneLimit: HistoryToken?

    var changes = TransactionChanges()
    /// What references that were set lead to, to be checked at the end.
    var references = ReferenceTargets()
    let ledger: DigestLedger<Writer>
    /// Why the transaction must not commit anything, although its closure may continue: its last change is incomplete.
    var failure: (any Error)?
    /// The memory in which the last record was encoded, for the next one.
    private var encoder: AttributeWriter?
    /// The model that was stored last, and the position of its entity: most come one after the other.
    private var lastModel: (type: ObjectIdentifier, entity: Int)?

    override init(_ writer: Writer, schema: Schema, evaluatesPredicates: Bool) {
        ledger = DigestLedger(writer, schema)
        super.init(writer, schema: schema, evaluatesPredicates: evaluatesPredicates)
    }

    /// Throws after any failure that left a change incomplete.
    override func requireOpen() throws {
        try super.requireOpen()
        if let failure { throw failure }
    }

    // MARK: Reading

    /// All rows are found before the first is handed on: `body` may write, and a record that it moves ahead in the order
    /// must not come again.
    override func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        var fetch = fetch
        fetch.query.projection = nil
        var found: [EncodedRecord] = []
        var statistics = try super.enumerateRows(fetch) { row in
            found.append(try row.encoded())
            return true
        }
        let layout = schema.entities[fetch.query.entity].layout
        for (place, record) in found.enumerated() {
            statistics.returned = place + 1
            let goesOn = try record.withView(layout) { view in
                var reader = view.reader
                return try body(&reader)
            }
            guard goesOn else { break }
        }
        return statistics
    }

    // MARK: Storing

    func insert<M: PersistentModel>(_ model: M) throws {
        try requireOpen()
        try store(model, mayReplace: false)
    }

    func save<M: PersistentModel>(_ model: M) throws {
        try requireOpen()
        try store(model, mayReplace: true)
    }

    private func store<M: PersistentModel>(_ model: M, mayReplace: Bool) throws {
        let entity = try position(of: M.self)
        let id = model.id
        try withEncoded(model, entity) { record in
            if Writer.waitsForAnswers { try expect(record, entity) }
            if mayReplace, let old = try snapshot.withRow(entity: entity, id: id, { try $0.encoded() }) {
                try update(entity, id, record, old)
            } else {
                try insert(entity, id, record)
            }
        }
    }

    func insert(_ entity: Int, _ id: UUID, _ record: RecordView) throws {
        try requireUnique(entity, id, record, nil)
        guard try ledger.insert(entity: entity, id: id, record: record) else {
            throw uniqueViolation(entity, attribute: 0, takenBy: id)
        }
        try references.note(record, since: nil, by: schema.storedReferences[entity])
        changes.noteInsertion(RecordKey(entity: entity, id: id), record, schema.layouts[entity])
    }

    func position<M: PersistentModel>(of model: M.Type) throws -> Int {
        let type = ObjectIdentifier(model)
        if let lastModel, lastModel.type == type { return lastModel.entity }
        let entity = try schema.position(of: model)
        lastModel = (type, entity)
        return entity
    }

    func withEncoded<M: PersistentModel>(
        _ model: M,
        _ entity: Int,
        _ body: (RecordView) throws -> Void
    ) throws {
        let layout = schema.layouts[entity]
        var writer = takeEncoder(layout)
        do {
            try model.write(to: &writer)
        } catch let error as HabitStoreError {
            let description = schema.entities[entity]
            // The writer stands at the attribute that it could not take.
            let attribute =
                description.attributes.indices.contains(writer.field) ? description.attributes[writer.field].name : nil
            throw HabitStoreError(
                error.code,
                "\(description.name)\(attribute.map { "." + $0 } ?? ""): \(error.message)",
                at: .init(entity: description.name, attribute: attribute, id: model.id),
                underlying: error.underlying
            )
        }
        try writer.finish { try body(RecordView(trusting: $0, layout: layout)) }
        encoder = consume writer
    }

    /// The encoder leaves its place while it is used: a model's code may itself store a model.
    private func takeEncoder(_ layout: RecordLayout) -> AttributeWriter {
        if var kept = encoder.take(), kept.layout === layout {
            kept.begin()
            return kept
        }
        return AttributeWriter(layout: layout)
    }

    private func update(_ entity: Int, _ id: UUID, _ record: RecordView, _ old: EncodedRecord) throws {
        let layout = schema.layouts[entity]
        try old.withView(layout) { oldView in
            guard !oldView.bytes.elementsEqual(record.bytes) else { return }
            try requireUnique(entity, id, record, oldView)
            try ledger.update(entity: entity, id: id, record: record, replacing: oldView)
            try references.note(record, since: oldView, by: schema.storedReferences[entity])
        }
        changes.noteUpdate(RecordKey(entity: entity, id: id), record, old, layout)
    }

    private func requireUnique(_ entity: Int, _ id: UUID, _ record: RecordView, _ old: RecordView?) throws {
        for position in schema.uniquePositions[entity] {
            let value = try record.value(at: position)
            if value.isNull { continue }
            if let old, try old.value(at: position) == value { continue }
            let taken =
                try expectedIdentifiers(entity, [position], record)
                ?? snapshot.identifiers(entity: entity, attribute: position, equalTo: value, limit: 2)
            if let other = taken.first(where: { $0 != id }) {
                throw uniqueViolation(entity, attribute: position, takenBy: other)
            }
        }
        for combination in schema.uniqueCombinations[entity] {
            guard let values = try combination.values(of: record) else { continue }
            if let old, try combination.values(of: old) == values { continue }
            let other: UUID?
            if let taken = try expectedIdentifiers(entity, combination.positions, record) {
                other = taken.first { $0 != id }
            } else {
                other = try combination.record(with: values, besides: id, snapshot, schema)
            }
            if let other { throw uniqueViolation(combination, takenBy: other) }
        }
    }

    private func expectedIdentifiers(_ entity: Int, _ attributes: @autoclosure () -> [Int], _ record: RecordView) throws
        -> [UUID]?
    {
        guard Writer.waitsForAnswers else { return nil }
        return try snapshot.expectedIdentifiers(entity: entity, attributes: attributes(), of: record)
    }

    private func uniqueViolation(_ combination: UniqueCombination, takenBy id: UUID) -> HabitStoreError {
        let description = schema.entities[combination.entity]
        let name = combination.positions.first.map { description.attributes[$0].name }
        return HabitStoreError(
            .uniqueViolation,
            "another \(description.name) (\(id.uuidString)) already has this \(combination.title(schema)), which must be unique "
                + "together",
            at: .init(entity: description.name, attribute: name, id: id)
        )
    }

    func uniqueViolation(_ entity: Int, attribute: Int, takenBy id: UUID) -> HabitStoreError {
        let description = schema.entities[entity]
        let name = description.attributes[attribute].name
        return HabitStoreError(
            .uniqueViolation,
            "another \(description.name) (\(id.uuidString)) already has this \(name), which must be unique",
            at: .init(entity: description.name, attribute: name, id: id)
        )
    }

    // MARK: References

    /// Requires that each reference which the transaction has set leads to a record. Where one leads nowhere, the records of the
    /// transaction are read again: the one that set it may have been changed or deleted since. A reference that the record
    /// already had is carried on if its target was missing before the transaction, but not if the transaction deleted it.
    private func requireReferences() throws {
        let missing = try references.all.filter { try !exists($0) }
        guard !missing.isEmpty else { return }
        for key in changes.order {
            guard let record = try snapshot.withRow(entity: key.entity, id: key.id, { try $0.encoded() }) else {
                continue
            }
            let original: EncodedRecord?
            switch changes[key] {
            case .inserted: original = nil
            case .updated(let old, _): original = old
            case .untouched: original = record
            case nil, .deleted: continue
            }
            try requireReferences(key, record, original, missing)
        }
    }

    private func requireReferences(
        _ key: RecordKey,
        _ record: EncodedRecord,
        _ original: EncodedRecord?,
        _ missing: Set<RecordKey>
    ) throws {
        let description = schema.entities[key.entity]
        for reference in schema.storedReferences[key.entity] {
            var dangling: [UUID] = []
            func look(_ view: RecordView, _ original: RecordView?) throws {
                var new: Set<UUID> = []
                try reference.forEachNewTarget(of: view, since: original) { new.insert($0) }
                try reference.forEachNewTarget(of: view, since: nil) { target in
                    let found = RecordKey(entity: reference.destination, id: target)
                    guard missing.contains(found), new.contains(target) || releases(key.entity, reference, found) else {
                        return
                    }
                    dangling.append(target)
                }
            }
            try record.withView(description.layout) { view in
                guard let original else { return try look(view, nil) }
                try original.withView(description.layout) { try look(view, $0) }
            }
            guard let target = dangling.min(by: { $0.isBefore($1) }) else { continue }
            let relationship = schema.relationships[key.entity][reference.relationship]
            throw HabitStoreError(
                .danglingReference,
                "\(description.name).\(relationship.description.name) leads to a "
                    + "\(schema.entities[relationship.destination].name) (\(target.uuidString)) that does not exist; "
                    + "store that first or in the same transaction",
                at: .init(entity: description.name, attribute: relationship.description.name, id: key.id)
            )
        }
    }

    /// Whether the transaction has deleted a record, by a rule that leaves no reference of this kind to it.
    private func releases(_ entity: Int, _ reference: StoredReference, _ target: RecordKey) -> Bool {
        guard case .deleted? = changes[target] else { return false }
        return schema.inbound[target.entity].contains {
            $0.entity == entity && $0.attribute == reference.attribute && $0.rule != .noAction
        }
    }

    func exists(_ key: RecordKey) throws -> Bool {
        try snapshot.contains(entity: key.entity, id: key.id)
    }

    // MARK: Deleting

    @discardableResult
    func delete<M: PersistentModel>(_ type: M.Type, id: UUID) throws -> Bool {
        try requireOpen()
        let key = RecordKey(entity: try schema.position(of: type), id: id)
        guard try exists(key) else { return false }
        // Everything is decided before anything is changed, so that a refusal that is caught leaves nothing half done,
        // and so that the order of the rules does not matter.
        var deletion = Deletion()
        deletion.add(key)
        var next = 0
        while next < deletion.records.count {
            try followRules(of: deletion.records[next], &deletion)
            next += 1
        }
        try requirePermission(deletion)
        for (source, attribute, target) in deletion.released where !deletion.doomed.contains(source) {
            try removeReference(source, attribute, target)
        }
        for key in deletion.records { try remove(key) }
        return true
    }

    private func followRules(of key: RecordKey, _ deletion: inout Deletion) throws {
        for inbound in schema.inbound[key.entity] where inbound.rule != .noAction {
            let sources = try snapshot.identifiers(
                entity: inbound.entity,
                attribute: inbound.attribute,
                equalTo: .uuid(key.id),
                limit: nil
            )
            for source in sources.map({ RecordKey(entity: inbound.entity, id: $0) }) {
                switch inbound.rule {
                case .cascade: deletion.add(source)
                case .nullify: deletion.released.append((source, inbound.attribute, key.id))
                case .deny: deletion.denying.append((source, key))
                case .noAction: break
                }
            }
        }
        try followForwardRules(of: key, &deletion)
    }

    /// Rules of the references that the deleted record itself holds: cascade takes their targets along, deny refuses.
    private func followForwardRules(of key: RecordKey, _ deletion: inout Deletion) throws {
        for reference in schema.storedReferences[key.entity] {
            let relationship = schema.relationships[key.entity][reference.relationship]
            let rule = relationship.description.deleteRule
            guard rule == .cascade || rule == .deny else { continue }
            let value = try snapshot.withRow(entity: key.entity, id: key.id) {
                try $0.value(at: relationship.attribute)
            }
            for target in (value ?? .null).targets.map({ RecordKey(entity: relationship.destination, id: $0) }) {
                guard try exists(target) else { continue }
                if rule == .cascade {
                    deletion.add(target)
                } else {
                    deletion.holding.append((key, relationship.description.name, target))
                }
            }
        }
    }

    private func requirePermission(_ deletion: Deletion) throws {
        if let (source, target) = deletion.denying.first(where: { !deletion.doomed.contains($0.source) }) {
            throw HabitStoreError(
                .deleteDenied,
                "a \(schema.entities[source.entity].name) (\(source.id.uuidString)) still refers to this "
                    + "\(schema.entities[target.entity].name), and the delete rule is deny",
                at: .init(entity: schema.entities[target.entity].name, id: target.id)
            )
        }
        if let (source, relationship, _) = deletion.holding.first(where: { !deletion.doomed.contains($0.target) }) {
            throw HabitStoreError(
                .deleteDenied,
                "this \(schema.entities[source.entity].name) still has \(relationship), and the delete rule is deny",
                at: .init(entity: schema.entities[source.entity].name, id: source.id)
            )
        }
        for (source, attribute, _) in deletion.released where !deletion.doomed.contains(source) {
            let description = schema.entities[source.entity]
            let isOptional =
                description.attributes[attribute].isOptional || description.attributes[attribute].kind == .links
            guard !isOptional else { continue }
            throw HabitStoreError(
                .deleteDenied,
                "a \(description.name) (\(source.id.uuidString)) must refer to a record",
                at: .init(entity: description.name, id: source.id)
            )
        }
    }

    private func remove(_ key: RecordKey) throws {
        let layout = schema.entities[key.entity].layout
        guard let old = try snapshot.withRow(entity: key.entity, id: key.id, { try $0.encoded() }) else { return }
        try old.withView(layout) { try ledger.delete(entity: key.entity, id: key.id, record: $0) }
        changes.noteDeletion(key, old)
    }

    private func removeReference(_ source: RecordKey, _ attribute: Int, _ target: UUID) throws {
        let layout = schema.entities[source.entity].layout
        guard let old = try snapshot.withRow(entity: source.entity, id: source.id, { try $0.encoded() }) else { return }
        var values = try old.values(layout)
        if case .links(let ids) = values[attribute] {
            values[attribute] = .links(ids.filter { $0 != target })
        } else {
            values[attribute] = .null
        }
        let record = try EncodedRecord(values, layout: layout)
        try record.withView(layout) { try update(source.entity, source.id, $0, old) }
    }

    // MARK: History

    func pruneHistory(through token: HistoryToken) throws {
        try requireOpen()
        try StoreBookkeeping.pruneHistory(snapshot, through: min(token, pruneLimit ?? token))
    }

    /// Checks the references, brings the digests up to date and appends the history transaction; a transaction without
    /// net changes leaves no token.
    ///
    /// - Returns: what was appended.
    func finish(author: String?, timestamp: Date) throws -> HistoryTransaction? {
        if let failure { throw failure }
        try requireReferences()
        try ledger.finish()
        let changes = try changes.history(schema)
        guard !changes.isEmpty else { return nil }
        let appended = HistoryTransaction(
            token: try StoreBookkeeping.lastToken(snapshot).next,
            timestamp: timestamp,
            author: author?.normalizedToNFC(),
            changes: changes
        )
        try snapshot.append(appended)
        return appended
    }
}

extension Value {
    /// The targets of a reference or of links.
    fileprivate var targets: [UUID] {
        switch self {
        case .uuid(let id): return [id]
        case .links(let ids): return ids
        default: return []
        }
    }
}
