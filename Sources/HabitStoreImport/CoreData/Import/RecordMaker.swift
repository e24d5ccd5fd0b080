import Foundation
import HabitStore

/// Makes the target's records of one entity's rows.
struct RecordMaker {
    /// A record of the target, and what of its row is not in it.
    struct Made {
        let id: UUID
        /// Nil when the target cannot hold the record.
        let record: EncodedRecord?
        let losses: [ImportLoss]
        /// Values that are kept as they are, and odd.
        var odd: [ImportLoss] = []
        /// How many texts were in another form of Unicode than NFC, and are in NFC now.
        var normalizedTexts = 0
    }

    let plan: CoreDataPlan.Entity
    /// Reads what is needed of the rows.
    let reader: CoreDataRowReader
    private let target: EntityDescription
    private let file: CoreDataFile
    private let resolver: IdentityResolver
    private let root: String
    private let places: [String: Int]
    private let roots: [String: String]
    private let links: [String: LinkReader]
    private let unmapped: [Int]

    init(_ plan: CoreDataPlan.Entity, _ schema: Schema, _ file: CoreDataFile, _ resolver: IdentityResolver) throws {
        self.plan = plan
        self.file = file
        self.resolver = resolver
        target = schema.entities[plan.target]
        root = plan.source.root
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
            case .attribute(let name), .texts(let name): used.insert(name)
            case .links(let name), .linkOrder(let name):
                if let relationship = plan.source.relationship(name) {
                    links[name] = try LinkReader(relationship, file)
                }
            default: break
            }
        }
        self.links = links
        reader = CoreDataRowReader(plan.source, columns: columns.sorted())
        // The identity stands in the record's id, whether or not it also has a place of its own.
        unmapped = plan.source.attributes.indices.filter { !used.contains(plan.source.attributes[$0].name) }
        roots = Dictionary(
            plan.source.relationships.map { ($0.name, file.model.entity($0.destination)?.root ?? $0.destination) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// The records that a row leads to, by their root entities and keys.
    func targets(of row: CoreDataRow) throws -> [(root: String, key: Int64)] {
        var result: [(String, Int64)] = []
        for field in plan.fields {
            switch field {
            case .reference(let name):
                if let reference = row.references[name], let root = roots[name] { result.append((root, reference.key)) }
            case .links(let name):
                guard let reader = links[name], let root = roots[name] else { continue }
                result += try reader.keys(of: row.key).map { (root, $0) }
            default: continue
            }
        }
        return result
    }

    /// The record of a row.
    func make(_ row: CoreDataRow, identity: String?) throws -> Made {
        let id = try resolver.identifier(root: root, key: row.key)
        var losses: [ImportLoss] = []
        var values: [Value] = []
        var isPossible = true
        var normalized = 0
        for (attribute, field) in zip(target.attributes, plan.fields) {
            let found = try value(field, row, id)
            let fitted = ValueFit.fit(found.value, to: attribute)
            if let reason = found.problem ?? fitted.problem {
                losses.append(loss(row, id, Self.property(field), reason, found.stored ?? StoredJSON(found.value)))
            }
            if fitted.value.isNull, !attribute.isOptional {
                isPossible = false
                losses.append(
                    loss(
                        row,
                        nil,
                        Self.property(field),
                        "\(target.name).\(attribute.name) needs a value",
                        StoredJSON(Value.null)
                    )
                )
            }
            if case .string(let before) = found.value, case .string(let after) = fitted.value,
                !before.utf8.elementsEqual(after.utf8)
            {
                normalized += 1
            }
            values.append(fitted.value)
        }
        for place in unmapped where plan.source.attributes[place].name != identity {
            let (attribute, value) = (plan.source.attributes[place], row.values[place])
            guard !value.value.isNull || value.stored != nil else { continue }
            let stored = value.stored.map { StoredJSON($0) } ?? StoredJSON(value.value)
            losses.append(loss(row, isPossible ? id : nil, attribute.name, "no place in \(target.name)", stored))
        }
        let record = isPossible ? try EncodedRecord(values, layout: target.layout) : nil
        return Made(id: id, record: record, losses: losses, odd: odd(row, id), normalizedTexts: normalized)
    }

    private func loss(_ row: CoreDataRow, _ id: UUID?, _ property: String?, _ reason: String, _ value: StoredJSON)
        -> ImportLoss
    {
        ImportLoss(entity: plan.source.name, key: row.key, id: id, property: property, reason: reason, value: value)
    }

    /// What is brought over, and not as it should be.
    private func odd(_ row: CoreDataRow, _ id: UUID) -> [ImportLoss] {
        plan.source.attributes.indices.compactMap { place in
            let value = row.values[place]
            guard let problem = value.problem, value.stored == nil else { return nil }
            return loss(row, id, plan.source.attributes[place].name, problem, StoredJSON(value.value))
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

    private typealias Found = (value: Value, problem: String?, stored: StoredJSON?)

    private func value(_ field: CoreDataPlan.Field, _ row: CoreDataRow, _ id: UUID) throws -> Found {
        switch field {
        case .missing: return (.null, nil, nil)
        case .constant(let value): return (value, nil, nil)
        case .identity: return (.uuid(id), nil, nil)
        case .key: return (.int(row.key), nil, nil)
        case .entityName: return (.string(plan.source.name), nil, nil)
        case .attribute(let name): return attribute(name, row)
        case .texts(let name): return texts(name, row)
        case .reference(let name):
            guard let reference = row.references[name], let root = roots[name] else { return (.null, nil, nil) }
            return (.uuid(try resolver.identifier(root: root, key: reference.key)), nil, nil)
        case .referenceKey(let name): return (row.references[name].map { .int($0.key) } ?? .null, nil, nil)
        case .owner(let column, let root):
            guard let key = row.numbers[column] else { return (.null, nil, nil) }
            return (.uuid(try resolver.identifier(root: root, key: key)), nil, nil)
        case .number(let column): return (row.numbers[column].map { .int($0) } ?? .null, nil, nil)
        case .links(let name): return (.links(try linked(name, row)), nil, nil)
        case .linkOrder(let name):
            let ids = try linked(name, row)
            return (ids.isEmpty ? .null : .strings(ids.map(\.uuidString)), nil, nil)
        }
    }

    private func attribute(_ name: String, _ row: CoreDataRow) -> Found {
        guard let place = places[name] else { return (.null, nil, nil) }
        let value = row.values[place]
        guard let stored = value.stored else { return (value.value, nil, nil) }
        return (.null, value.problem, StoredJSON(stored))
    }

    private func texts(_ name: String, _ row: CoreDataRow) -> Found {
        guard let place = places[name], case .data(let bytes) = row.values[place].value else {
            return (.null, nil, nil)
        }
        if let texts = TextList.read(.blob(bytes)) { return (.strings(texts), nil, nil) }
        return (.null, "no list of texts", StoredJSON(.blob(bytes)))
    }

    private func linked(_ name: String, _ row: CoreDataRow) throws -> [UUID] {
        guard let reader = links[name], let root = roots[name] else { return [] }
        return try reader.keys(of: row.key).map { try resolver.identifier(root: root, key: $0) }
    }
}
