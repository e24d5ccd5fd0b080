import Foundation

@_spi(Engines) extension EngineBackedStore {
    /// Checks the store against itself.
    public func check(progress: (Int) throws -> Void) throws -> [StoreFinding] {
        var findings = try core.engine.check(progress)
        // Behind damage every further look would only fail: what is there has to be repaired first.
        if findings.contains(where: { $0.severity == .damage }) { return findings }
        try core.engine.read { snapshot in
            var check = StoreCheck(snapshot, schema)
            try check.run(progress)
            // The engine may have found the same.
            findings += check.findings.filter { !findings.contains($0) }
        }
        return findings
    }
}

/// The checks that mean the same on every engine: uniqueness, references, dates, history.
private struct StoreCheck<Snapshot: EngineSnapshot> {
    let snapshot: Snapshot
    let schema: Schema
    var findings: [StoreFinding] = []
    private var checked = 0

    /// The instants of the years 1 and 9999, between which a date is not called odd.
    private static var plausibleDates: ClosedRange<Double> { -63_113_904_000...252_423_993_600 }

    init(_ snapshot: Snapshot, _ schema: Schema) {
        self.snapshot = snapshot
        self.schema = schema
    }

    mutating func run(_ progress: (Int) throws -> Void) throws {
        let isDescribed = try checkBookkeeping()
        for entity in schema.entities.indices { try checkRecords(entity, progress) }
        if isDescribed { try checkHistory() }
    }

    /// Checks the store's bookkeeping, which every opening, copy and comparison relies on.
    ///
    /// - Returns: whether the history can be compared with it.
    private mutating func checkBookkeeping() throws -> Bool {
        do {
            let information = try StoreBookkeeping.information(snapshot)
            if information.historyFloor > information.token {
                report(
                    "its history was pruned up to token \(information.historyFloor), and its last is \(information.token)"
                )
            }
            if try StoreBookkeeping.version(snapshot, path: nil) != schema.version {
                report("its schema is of another version than it says")
            }
            for (position, entity) in schema.entities.enumerated() {
                let hash = try snapshot.metadata(MetadataKey.hashPrefix + entity.name)
                guard hash != schema.shapeHash(ofEntity: position) else { continue }
                report("the shape that it states for \(entity.name) is not that of its schema", entity: entity.name)
            }
            if let form = try snapshot.metadata(MetadataKey.textForm), form != MetadataKey.nfc {
                report("the form that it states for its texts is unknown")
            }
            return true
        } catch let error as HabitStoreError where error.isDamage || error.code == .newerVersion {
            report(error.message)
            return false
        }
    }

    private mutating func report(_ message: String, entity: String? = nil) {
        findings.append(
            StoreFinding(.damage, "bookkeepingDamaged", "the store's bookkeeping: \(message)", entity: entity)
        )
    }

    private mutating func checkRecords(_ entity: Int, _ progress: (Int) throws -> Void) throws {
        let description = schema.entities[entity]
        var seen: [Int: [Value: UUID]] = [:]
        var combinations: [[Int]: Set<[Value]>] = [:]
        let query = BoundQuery(entity: entity)
        let plan = try snapshot.plan(query)
        let read = description.isUntyped ? nil : Self.reading(description.modelType)
        var found: [StoreFinding] = []
        func check(_ row: inout AttributeReader) throws -> Bool {
            checked += 1
            if checked % 1_000 == 0 { try progress(checked) }
            let id = try row.identifier()
            for (position, attribute) in description.attributes.enumerated() {
                let value = try row.value(at: position)
                found += try findings(value, attribute, position, entity, id)
                if attribute.isUnique, position > 0, !value.isNull,
                    seen[position, default: [:]].updateValue(id, forKey: value) != nil
                {
                    found.append(
                        StoreFinding(
                            .anomaly,
                            "duplicateUniqueValue",
                            "another \(description.name) has the same \(attribute.name), which should be unique",
                            entity: description.name,
                            id: id,
                            attribute: attribute.name
                        )
                    )
                }
            }
            for combination in schema.uniqueCombinations[entity] {
                let values = try combination.positions.map { try row.value(at: $0) }
                guard !values.contains(where: \.isNull),
                    !combinations[combination.positions, default: []].insert(values).inserted
                else { continue }
                found.append(
                    StoreFinding(
                        .anomaly,
                        "duplicateUniqueValue",
                        "another \(description.name) has the same \(combination.title(schema)), which should be unique together",
                        entity: description.name,
                        id: id,
                        attribute: combination.positions.first.map { description.attributes[$0].name }
                    )
                )
            }
            if let read, let finding = try unreadable(&row, id, description, read) { found.append(finding) }
            return true
        }
        do {
            try snapshot.walk(plan) { try check(&$0) }
        } catch let error as HabitStoreError where error.code == .invalidValue {
            // In an app's own table, what is stored need not be a value of the attribute.
            found.append(
                StoreFinding(
                    .unreadable,
                    "valueWithoutForm",
                    error.message,
                    entity: description.name,
                    id: error.location.id,
                    attribute: error.location.attribute
                )
            )
        }
        findings += found
        try progress(checked)
    }

    /// Reads a row as its model, as a fetch does.
    private typealias Reading = (inout AttributeReader) throws -> Void

    private static func reading<M: PersistentModel>(_ model: M.Type) -> Reading {
        { row in
            row.rewind()
            _ = try M.read(from: &row)
        }
    }

    /// The finding about a sound record that its model cannot read; nil when the model reads it.
    private func unreadable(
        _ row: inout AttributeReader,
        _ id: UUID,
        _ entity: EntityDescription,
        _ read: Reading
    ) throws -> StoreFinding? {
        do {
            try read(&row)
            return nil
        } catch let error as HabitStoreError where error.code == .unreadableValue {
            let attribute = error.location.attribute
            return StoreFinding(
                .unreadable,
                "unreadableValue",
                error.message,
                entity: entity.name,
                id: id,
                attribute: attribute
            )
        } catch let error as HabitStoreError where error.isDamage {
            throw error
        } catch {
            return StoreFinding(
                .unreadable,
                "unreadableRecord",
                "\(entity.name): its init(row:) throws \(type(of: error)) for a record that the store has whole",
                entity: entity.name,
                id: id
            )
        }
    }

    private func findings(
        _ value: Value,
        _ attribute: AttributeDescription,
        _ position: Int,
        _ entity: Int,
        _ id: UUID
    ) throws -> [StoreFinding] {
        let name = schema.entities[entity].name
        if case .date(let date) = value, !Self.plausibleDates.contains(date.timeIntervalSinceReferenceDate) {
            return [
                StoreFinding(
                    .anomaly,
                    "oddDate",
                    "\(name).\(attribute.name) lies outside of the years 1 to 9999",
                    entity: name,
                    id: id,
                    attribute: attribute.name
                )
            ]
        }
        let targets: [UUID]
        switch value {
        case .uuid(let target) where position > 0: targets = [target]
        case .links(let links): targets = links
        default: return []
        }
        guard let relationship = schema.relationships[entity].first(where: { $0.storesReference(in: position) }) else {
            return []
        }
        return try targets.compactMap { target in
            guard try snapshot.withRow(entity: relationship.destination, id: target, { _ in true }) == nil else {
                return nil
            }
            return StoreFinding(
                .anomaly,
                "danglingReference",
                "\(name).\(relationship.description.name) leads to a "
                    + "\(schema.entities[relationship.destination].name) that does not exist",
                entity: name,
                id: id,
                attribute: relationship.description.name
            )
        }
    }

    private mutating func checkHistory() throws {
        let floor = try StoreBookkeeping.historyFloor(snapshot)
        var expected = floor.next
        var found: [StoreFinding] = []
        try snapshot.history(after: floor.rawValue) { transaction in
            if transaction.token != expected {
                found.append(
                    StoreFinding(
                        .damage,
                        "historyGap",
                        "the history has token \(transaction.token) where \(expected) should be"
                    )
                )
            }
            expected = transaction.token.next
            return true
        }
        // Pruned transactions are gone. Those that remain at or before the floor were hidden by raising it.
        try snapshot.history(after: 0) { transaction in
            guard transaction.token <= floor else { return false }
            found.append(
                StoreFinding(
                    .damage,
                    "historyBeforeFloor",
                    "the history has token \(transaction.token), and says that it was pruned up to \(floor)"
                )
            )
            return false
        }
        let last = try StoreBookkeeping.lastToken(snapshot)
        if last.next != expected, last > floor {
            found.append(
                StoreFinding(.damage, "historyGap", "the history ends before the store's token \(last)")
            )
        }
        findings += found
    }
}

extension Schema.Relationship {
    /// Whether it is this side's attribute at a position that stores the reference.
    func storesReference(in position: Int) -> Bool { isStored && attribute == position }
}
