import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// Converts the rows of one source entity to records of the target.
struct RecordMaker {
    /// A record of the target, and the parts of its row that are not in it.
    struct Made {
        let plan: CoreDataPlan.Entity
        let key: Int64
        let id: UUID
        /// Nil if the target cannot hold the record.
        let record: EncodedRecord?
        let losses: [ImportLoss]
        /// The keys of referenced and linked records, by the target's attribute and their identifiers.
        var keys: [Int: [UUID: Int64]] = [:]
        /// Odd values that were imported unchanged.
        var odd: [ImportLoss] = []
        /// The number of texts that were converted to NFC.
        var normalizedTexts = 0
        /// The number of texts in which NFC replaces characters; the originals are among the losses.
        var replacedTexts: Int { losses.count { $0.kind == .otherCharacters } }
        /// The record's name in a ledger.
        var name: String { ImportLedger.record(plan.source.root, key) }

        /// The source column that an attribute of the target gets its reference from.
        func column(_ attribute: Int) -> String? {
            switch plan.fields[attribute] {
            case .reference(let name): plan.source.column(of: name)
            case .owner(let column, _): column
            default: nil
            }
        }

        /// The source row of a link in an attribute of the target.
        func link(_ attribute: Int, to id: UUID) -> UnmappedRow? {
            guard case .links(let name) = plan.fields[attribute], let target = keys[attribute]?[id],
                case .table(let table, let here, let there)? = plan.source.relationship(name)?.storage
            else { return nil }
            return UnmappedRow(table, [here: key, there: target], "a link that leads to no record")
        }
    }

    let plan: CoreDataPlan.Entity
    /// Reads the required columns of the rows.
    let reader: CoreDataRowReader
    private let target: EntityDescription
    private let resolver: IdentityResolver
    private let root: String
    /// The attribute with the identity.
    private let identity: String?
    private let places: [String: Int]
    private let roots: [String: String]
    private let links: [String: LinkReader]
    private let unmapped: [Int]
    private let isDerived: Bool
    /// The to-one relationships that no field reads.
    private let unmappedReferences: [String]

    init(
        _ plan: CoreDataPlan.Entity,
        _ whole: CoreDataPlan,
        _ file: CoreDataFile,
        _ resolver: IdentityResolver
    ) throws {
        self.plan = plan
        self.resolver = resolver
        target = whole.schema.entities[plan.target]
        root = plan.source.root
        identity = whole.identities[root]
        isDerived = whole.source != nil
        places = Dictionary(
            plan.source.attributes.enumerated().map { ($1.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var columns: Set<String> = []
        var used: Set<String> = []
        var links: [String: LinkReader] = [:]
        for field in plan.fields {
            switch field {
            case .owner(let column, _), .number(let column): columns.insert(column)
            case .attribute(let name), .texts(let name), .reference(let name), .referenceKey(let name):
                used.insert(name)
            case .links(let name), .linkOrder(let name):
                if let relationship = plan.source.relationship(name) {
                    links[name] = try LinkReader(relationship, file)
                }
            default: break
            }
        }
        self.links = links
        reader = CoreDataRowReader(plan.source, in: file, columns: columns.sorted())
        // The identity is in the record's id, even if no attribute reads it.
        unmapped = plan.source.attributes.indices.filter { !used.contains(plan.source.attributes[$0].name) }
        unmappedReferences = plan.source.relationships.filter { !$0.isToMany && !used.contains($0.name) }.map(\.name)
        roots = Dictionary(
            plan.source.relationships.map { ($0.name, file.model.entity($0.destination)?.root ?? $0.destination) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// The records that a row refers to, by root entity and key.
    func targets(of row: CoreDataRow) throws -> [(root: String, key: Int64)] {
        try plan.fields.flatMap { try targets($0, row) ?? [] }
    }

    /// The records that a field refers to, in order; nil for fields of values.
    private func targets(_ field: CoreDataPlan.Field, _ row: CoreDataRow) throws -> [(root: String, key: Int64)]? {
        switch field {
        case .reference(let name):
            guard let reference = row.references[name], let root = roots[name] else { return [] }
            return [(root, reference.key)]
        case .owner(let column, let root): return row.numbers[column].map { [(root, $0)] } ?? []
        case .links(let name), .linkOrder(let name):
            guard let reader = links[name], let root = roots[name] else { return [] }
            return try reader.keys(of: row.key).map { (root, $0) }
        default: return nil
        }
    }

    func make(_ row: CoreDataRow) throws -> Made {
        let id = try resolver.identifier(root: root, key: row.key)
        var losses: [ImportLoss] = []
        var values: [Value] = []
        var isPossible = true
        var normalized = 0
        var keys: [Int: [UUID: Int64]] = [:]
        for (place, (attribute, field)) in zip(target.attributes, plan.fields).enumerated() {
            if let leading = try self.keys(field, row), !leading.isEmpty { keys[place] = leading }
            let found = try value(field, row, id)
            let fitted = ValueFit.fit(found.value, to: attribute)
            if let reason = found.problem ?? fitted.problem {
                let value = found.stored ?? JSON(stored: found.value)
                losses.append(loss(row, id, Self.property(field), reason, value, found.loss))
            }
            if fitted.value.isNull, !attribute.isOptional {
                isPossible = false
                losses.append(
                    loss(
                        row,
                        nil,
                        Self.property(field),
                        "\(target.name).\(attribute.name) needs a value",
                        JSON(stored: Value.null)
                    )
                )
            }
            if Self.isNormalized(found.value, fitted.value) { normalized += 1 }
            if found.problem == nil, Self.isReplaced(found.value) {
                let value = original(field, row) ?? JSON(stored: found.value)
                let reason = "the original text, since NFC replaces characters of it"
                losses.append(loss(row, id, Self.property(field), reason, value, .otherCharacters))
            }
            values.append(fitted.value)
        }
        for place in unmapped where plan.source.attributes[place].name != identity {
            let (attribute, value) = (plan.source.attributes[place], row.values[place])
            guard !value.value.isNull || value.stored != nil else { continue }
            let stored = value.stored.map { JSON(stored: $0) } ?? JSON(stored: value.value)
            losses.append(loss(row, isPossible ? id : nil, attribute.name, "no place in \(target.name)", stored))
        }
        for name in unmappedReferences {
            guard let reference = row.references[name] else { continue }
            let key = JSON(stored: Value.int(reference.key))
            losses.append(loss(row, isPossible ? id : nil, name, "no place in \(target.name)", key))
        }
        losses += row.misplaced.map { found in
            ImportLoss(
                entity: plan.source.name,
                key: row.key,
                id: isPossible ? id : nil,
                property: found.property,
                table: plan.source.table,
                column: found.column,
                reason: "what is no whole number where a key or a place should be",
                value: JSON(stored: found.value),
                kind: .otherType
            )
        }
        let record = isPossible ? try EncodedRecord(values, layout: target.layout) : nil
        return Made(
            plan: plan,
            key: row.key,
            id: id,
            record: record,
            losses: losses,
            keys: keys,
            odd: odd(row, id),
            normalizedTexts: normalized
        )
    }

    private static func isNormalized(_ before: Value, _ after: Value) -> Bool {
        switch (before, after) {
        case (.string(let before), .string(let after)): !before.utf8.elementsEqual(after.utf8)
        case (.strings(let before), .strings(let after)):
            !before.elementsEqual(after) { $0.utf8.elementsEqual($1.utf8) }
        default: false
        }
    }

    private static func isReplaced(_ value: Value) -> Bool {
        switch value {
        case .string(let text): text.isReplacedByNFC
        case .strings(let texts): texts.contains(where: \.isReplacedByNFC)
        default: false
        }
    }

    /// The stored value of the attribute that a field reads.
    private func original(_ field: CoreDataPlan.Field, _ row: CoreDataRow) -> JSON? {
        guard let name = Self.property(field), let place = places[name] else { return nil }
        return row.values[place].stored.map { JSON(stored: $0) } ?? JSON(stored: row.values[place].value)
    }

    /// The keys that a field refers to, by the identifiers of their records. Not needed for a derived schema, which accepts dangling
    /// references.
    private func keys(_ field: CoreDataPlan.Field, _ row: CoreDataRow) throws -> [UUID: Int64]? {
        guard !isDerived, let targets = try targets(field, row) else { return nil }
        return Dictionary(
            try targets.map { (try resolver.identifier(root: $0, key: $1), $1) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    private func loss(
        _ row: CoreDataRow,
        _ id: UUID?,
        _ property: String?,
        _ reason: String,
        _ value: JSON,
        _ kind: ImportLoss.Kind = .noPlace
    ) -> ImportLoss {
        ImportLoss(
            entity: plan.source.name,
            key: row.key,
            id: id,
            property: property,
            table: plan.source.table,
            column: property.flatMap { plan.source.column(of: $0) },
            reason: reason,
            value: value,
            kind: kind
        )
    }

    /// The values that were imported although something is odd about them.
    private func odd(_ row: CoreDataRow, _ id: UUID) -> [ImportLoss] {
        plan.source.attributes.indices.compactMap { place in
            let value = row.values[place]
            guard let problem = value.problem, value.stored == nil else { return nil }
            return loss(row, id, plan.source.attributes[place].name, problem, JSON(stored: value.value), value.loss)
        }
    }

    private static func property(_ field: CoreDataPlan.Field) -> String? {
        switch field {
        case .attribute(let name), .texts(let name), .reference(let name), .referenceKey(let name), .links(let name),
            .linkOrder(let name):
            return name
        case .number(let column), .owner(let column, _): return column
        case .missing, .constant, .identity, .key, .entityName: return nil
        }
    }

    // MARK: Values

    private struct Found {
        var value = Value.null
        var problem: String?
        var stored: JSON?
        var loss = ImportLoss.Kind.noPlace
    }

    private func value(_ field: CoreDataPlan.Field, _ row: CoreDataRow, _ id: UUID) throws -> Found {
        switch field {
        case .missing: return Found()
        case .constant(let value): return Found(value: value)
        case .identity: return Found(value: .uuid(id))
        case .key: return Found(value: .int(row.key))
        case .entityName: return Found(value: .string(plan.source.name))
        case .attribute(let name): return attribute(name, row)
        case .texts(let name): return texts(name, row)
        case .reference, .owner: return Found(value: try identifiers(field, row).first.map { .uuid($0) } ?? .null)
        case .referenceKey(let name): return Found(value: row.references[name].map { .int($0.key) } ?? .null)
        case .number(let column): return Found(value: row.numbers[column].map { .int($0) } ?? .null)
        case .links: return Found(value: .links(try identifiers(field, row)))
        case .linkOrder:
            let ids = try identifiers(field, row)
            return Found(value: ids.isEmpty ? .null : .strings(ids.map(\.uuidString)))
        }
    }

    private func identifiers(_ field: CoreDataPlan.Field, _ row: CoreDataRow) throws -> [UUID] {
        try targets(field, row)?.map { try resolver.identifier(root: $0, key: $1) } ?? []
    }

    private func attribute(_ name: String, _ row: CoreDataRow) -> Found {
        guard let place = places[name] else { return Found() }
        let value = row.values[place]
        guard let stored = value.stored else { return Found(value: value.value) }
        return Found(value: value.value, problem: value.problem, stored: JSON(stored: stored), loss: value.loss)
    }

    private func texts(_ name: String, _ row: CoreDataRow) -> Found {
        guard let place = places[name], case .data(let bytes) = row.values[place].value else {
            return Found()
        }
        if let texts = TextList.read(.blob(bytes)) { return Found(value: .strings(texts)) }
        return Found(problem: "no list of texts", stored: JSON(stored: .blob(bytes)), loss: .otherType)
    }
}
