import Foundation

/// A write transaction over an engine: uniqueness, references, delete rules and history.
final class EngineWriteTransaction<Writer: EngineWriter>: EngineReadTransaction<Writer>, WriteTransaction {
    /// What this transaction did to a record, net.
    private enum Touch {
        case inserted
        case updated(original: EncodedRecord, attributes: [Int])
        case deleted(original: EncodedRecord)
        /// Inserted and deleted again, or brought back to what it was.
        case untouched
    }

    private struct Key: Hashable {
        let entity: Int
        let id: UUID
    }

    /// The last token whose history may be forgotten; nil for all.
    var pruneLimit: HistoryToken?

    private var touches: [Key: Touch] = [:]
    private var order: [Key] = []
    /// What references that were set lead to, to be checked at the end.
    private var references: Set<Key> = []
    private let ledger: DigestLedger<Writer>

    init<Engine>(_ writer: Writer, in store: EngineStore<Engine>) {
        ledger = DigestLedger(writer, store.schema)
        super.init(writer, schema: store.schema, evaluatesPredicates: store.evaluatesPredicates)
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
        let entity = try schema.position(of: M.self)
        let description = schema.entities[entity]
        let id = model.id
        try withEncoded(model, description) { record in
            if mayReplace, let old = try snapshot.withRow(entity: entity, id: id, { try $0.encoded() }) {
                try update(entity, id, record, old)
            } else {
                try requireUnique(entity, id, record, nil)
                guard try ledger.insert(entity: entity, id: id, record: record) else {
                    throw uniqueViolation(entity, attribute: 0, takenBy: id)
                }
                try noteReferences(entity, record, nil)
                noteInsertion(Key(entity: entity, id: id), record)
            }
        }
    }

    private func withEncoded<M: PersistentModel>(
        _ model: M,
        _ description: EntityDescription,
        _ body: (RecordView) throws -> Void
    ) throws {
        var writer = AttributeWriter(layout: description.layout)
        do {
            try model.write(to: &writer)
        } catch let error as HabitStoreError {
            throw HabitStoreError(
                error.code,
                "\(description.name): \(error.message)",
                at: .init(entity: description.name, id: model.id)
            )
        }
        try writer.finish { try body(RecordView(trusting: $0, layout: description.layout)) }
    }

    private func update(_ entity: Int, _ id: UUID, _ record: RecordView, _ old: EncodedRecord) throws {
        let layout = schema.entities[entity].layout
        try old.withView(layout) { oldView in
            guard !oldView.bytes.elementsEqual(record.bytes) else { return }
            try requireUnique(entity, id, record, oldView)
            try ledger.update(entity: entity, id: id, record: record, replacing: oldView)
            try noteReferences(entity, record, oldView)
        }
        try noteUpdate(Key(entity: entity, id: id), record, old)
    }

    private func requireUnique(_ entity: Int, _ id: UUID, _ record: RecordView, _ old: RecordView?) throws {
        let attributes = schema.entities[entity].attributes
        for position in attributes.indices.dropFirst() where attributes[position].isUnique {
            let value = try record.value(at: position)
            if value.isNull { continue }
            if let old, try old.value(at: position) == value { continue }
            let taken = try snapshot.identifiers(entity: entity, attribute: position, equalTo: value, limit: 2)
            if let other = taken.first(where: { $0 != id }) {
                throw uniqueViolation(entity, attribute: position, takenBy: other)
            }
        }
    }

    private func uniqueViolation(_ entity: Int, attribute: Int, takenBy id: UUID) -> HabitStoreError {
        let description = schema.entities[entity]
        let name = description.attributes[attribute].name
        return HabitStoreError(
            .uniqueViolation,
            "another \(description.name) (\(id.uuidString)) already has this \(name), which must be unique",
            at: .init(entity: description.name, attribute: name, id: id)
        )
    }

    // MARK: References

    private func noteReferences(_ entity: Int, _ record: RecordView, _ old: RecordView?) throws {
        for relationship in schema.storedReferences(ofEntity: entity) {
            for target in try newTargets(relationship, record, old) {
                references.insert(Key(entity: relationship.destination, id: target))
            }
        }
    }

    /// What a record refers to and did not refer to before.
    private func newTargets(
        _ relationship: Schema.Relationship,
        _ record: RecordView,
        _ old: RecordView?
    ) throws -> Set<UUID> {
        let now = try record.value(at: relationship.attribute).targets
        guard !now.isEmpty, let old else { return Set(now) }
        return Set(now).subtracting(try old.value(at: relationship.attribute).targets)
    }

    /// Each reference that is new, net, must lead to a record. Only when one that was set leads nowhere are the records
    /// of the transaction looked at again: the one that set it may have been changed since, or be what it was.
    private func requireReferences() throws {
        let missing = try references.filter { try !exists($0) }
        guard !missing.isEmpty else { return }
        for key in order {
            guard let record = try snapshot.withRow(entity: key.entity, id: key.id, { try $0.encoded() }) else {
                continue
            }
            let original: EncodedRecord?
            switch touches[key] {
            case .inserted: original = nil
            case .updated(let old, _): original = old
            case nil, .untouched, .deleted: continue
            }
            try requireReferences(key, record, original, missing)
        }
    }

    private func requireReferences(
        _ key: Key,
        _ record: EncodedRecord,
        _ original: EncodedRecord?,
        _ missing: Set<Key>
    ) throws {
        let description = schema.entities[key.entity]
        for relationship in schema.storedReferences(ofEntity: key.entity) {
            let targets = try record.withView(description.layout) { view in
                guard let original else { return try newTargets(relationship, view, nil) }
                return try original.withView(description.layout) { try newTargets(relationship, view, $0) }
            }
            let dangling = targets.filter { missing.contains(Key(entity: relationship.destination, id: $0)) }
            guard let target = dangling.min(by: { $0.isBefore($1) }) else { continue }
            throw HabitStoreError(
                .danglingReference,
                "\(description.name).\(relationship.description.name) leads to a "
                    + "\(schema.entities[relationship.destination].name) (\(target.uuidString)) that does not exist; "
                    + "store that first or in the same transaction",
                at: .init(entity: description.name, attribute: relationship.description.name, id: key.id)
            )
        }
    }

    private func exists(_ key: Key) throws -> Bool {
        try snapshot.withRow(entity: key.entity, id: key.id, { _ in true }) != nil
    }

    // MARK: Deleting

    /// What a deletion comes to by the delete rules.
    private struct Deletion {
        /// The records that go, each behind the one that takes it along.
        var records: [Key] = []
        var doomed: Set<Key> = []
        /// References into doomed records that become nil or lose a link.
        var released: [(source: Key, attribute: Int, target: UUID)] = []
        /// References into doomed records by which a rule forbids the deletion, unless their record goes too.
        var denying: [(source: Key, target: Key)] = []
        /// References of doomed records by which a rule forbids the deletion, unless what they lead to goes too.
        var holding: [(source: Key, relationship: String, target: Key)] = []

        mutating func add(_ key: Key) {
            if doomed.insert(key).inserted { records.append(key) }
        }
    }

    @discardableResult
    func delete<M: PersistentModel>(_ type: M.Type, id: UUID) throws -> Bool {
        try requireOpen()
        let key = Key(entity: try schema.position(of: type), id: id)
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

    private func followRules(of key: Key, _ deletion: inout Deletion) throws {
        for inbound in schema.inbound[key.entity] where inbound.rule != .noAction {
            let sources = try snapshot.identifiers(
                entity: inbound.entity,
                attribute: inbound.attribute,
                equalTo: .uuid(key.id),
                limit: nil
            )
            for source in sources.map({ Key(entity: inbound.entity, id: $0) }) {
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
    private func followForwardRules(of key: Key, _ deletion: inout Deletion) throws {
        for relationship in schema.storedReferences(ofEntity: key.entity) {
            let rule = relationship.description.deleteRule
            guard rule == .cascade || rule == .deny else { continue }
            let value = try snapshot.withRow(entity: key.entity, id: key.id) {
                try $0.value(at: relationship.attribute)
            }
            for target in (value ?? .null).targets.map({ Key(entity: relationship.destination, id: $0) }) {
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

    private func remove(_ key: Key) throws {
        let layout = schema.entities[key.entity].layout
        guard let old = try snapshot.withRow(entity: key.entity, id: key.id, { try $0.encoded() }) else { return }
        try old.withView(layout) { try ledger.delete(entity: key.entity, id: key.id, record: $0) }
        noteDeletion(key, old)
    }

    private func removeReference(_ source: Key, _ attribute: Int, _ target: UUID) throws {
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

    private func noteInsertion(_ key: Key, _ record: RecordView) {
        switch touches[key] {
        case nil:
            order.append(key)
            touches[key] = .inserted
        case .deleted(let original):
            let changed = changedAttributes(key.entity, record, original)
            touches[key] = changed.isEmpty ? .untouched : .updated(original: original, attributes: changed)
        case .untouched, .inserted, .updated: touches[key] = .inserted
        }
    }

    private func noteUpdate(_ key: Key, _ record: RecordView, _ old: EncodedRecord) throws {
        let original: EncodedRecord
        switch touches[key] {
        case .inserted: return
        case .updated(let first, _): original = first
        case nil:
            order.append(key)
            original = old
        case .untouched, .deleted: original = old
        }
        let changed = changedAttributes(key.entity, record, original)
        touches[key] = changed.isEmpty ? .untouched : .updated(original: original, attributes: changed)
    }

    private func noteDeletion(_ key: Key, _ old: EncodedRecord) {
        switch touches[key] {
        case .inserted: touches[key] = .untouched
        case .updated(let original, _), .deleted(let original): touches[key] = .deleted(original: original)
        case .untouched: touches[key] = .deleted(original: old)
        case nil:
            order.append(key)
            touches[key] = .deleted(original: old)
        }
    }

    private func changedAttributes(_ entity: Int, _ record: RecordView, _ original: EncodedRecord) -> [Int] {
        let layout = schema.entities[entity].layout
        return original.withView(layout) { old in
            layout.kinds.indices.filter { position in
                old.isNull(at: position) != record.isNull(at: position)
                    || !((try? old.rawBytes(at: position).elementsEqual(record.rawBytes(at: position))) ?? false)
            }
        }
    }

    func pruneHistory(through token: HistoryToken) throws {
        try requireOpen()
        try StoreBookkeeping.pruneHistory(snapshot, through: min(token, pruneLimit ?? token))
    }

    /// Checks the references, brings the digests up to date and appends the history transaction; a transaction without
    /// net changes leaves no token.
    ///
    /// - Returns: what was appended.
    func finish(author: String?, timestamp: Date) throws -> HistoryTransaction? {
        try requireReferences()
        try ledger.finish()
        let changes = try order.compactMap { key -> HistoryChange? in
            guard let kind = try changeKind(key) else { return nil }
            return HistoryChange(entity: schema.entities[key.entity].name, id: key.id, kind: kind)
        }
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

    private func changeKind(_ key: Key) throws -> HistoryChange.Kind? {
        let entity = schema.entities[key.entity]
        switch touches[key] {
        case nil, .untouched: return nil
        case .inserted: return .insert
        case .updated(_, let attributes):
            return .update(updatedAttributes: attributes.map { entity.attributes[$0].name })
        case .deleted(let original):
            var tombstone: [String: Value] = [:]
            try original.withView(entity.layout) { view in
                for (position, attribute) in entity.attributes.enumerated()
                where attribute.preservesValueOnDeletion && position > 0 {
                    tombstone[attribute.name] = try view.value(at: position)
                }
            }
            return .delete(tombstone: tombstone)
        }
    }
}

extension Schema {
    /// The relationships whose references are stored in an entity's own records.
    fileprivate func storedReferences(ofEntity position: Int) -> [Relationship] {
        relationships[position].filter(\.isStored)
    }
}

extension Value {
    /// What a reference or links lead to.
    fileprivate var targets: [UUID] {
        switch self {
        case .uuid(let id): return [id]
        case .links(let ids): return ids
        default: return []
        }
    }
}
