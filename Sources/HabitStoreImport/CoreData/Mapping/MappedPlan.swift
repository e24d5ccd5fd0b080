import Foundation
@_spi(Engines) import HabitStore

/// Checks a mapping against a file and a schema, and makes a plan from it. All names must exist on both sides, and every required attribute
/// must get a value, so that mistakes are found before anything is written.
struct MappedPlan {
    private let mapping: CoreDataMapping
    private let file: CoreDataFile
    private let schema: Schema

    init(_ mapping: CoreDataMapping, _ file: CoreDataFile, _ schema: Schema) {
        (self.mapping, self.file, self.schema) = (mapping, file, schema)
    }

    /// - Throws: ``HabitStoreError/Code/invalidValue`` with the entity and the property that do not fit, or with an open question.
    func plan() throws -> CoreDataPlan {
        try mapping.requireAnswers(at: file.path)
        for entity in mapping.entities where file.model.entity(entity.source) == nil {
            throw wrong("the file has no entity \(entity.source)", entity.source)
        }
        var identities: [String: String] = [:]
        var entities: [CoreDataPlan.Entity] = []
        for source in file.model.entities {
            guard let mapped = mapped(source), let name = mapped.target else { continue }
            guard let target = schema.entities.firstIndex(where: { $0.name == name }) else {
                throw wrong("the schema has no entity \(name)", source.name)
            }
            if let identity = mapped.identity {
                try requireIdentity(identity, source)
                identities[source.root] = identity
            }
            let fields = try fields(mapped, source, schema.entities[target])
            entities.append(CoreDataPlan.Entity(source: source, target: target, fields: fields))
        }
        return CoreDataPlan(schema: schema, entities: entities, identities: identities, source: nil, oddities: [])
    }

    /// The mapping of an entity, or of the nearest ancestor that has one.
    private func mapped(_ source: CoreDataEntity) -> CoreDataMapping.Entity? {
        var entity: CoreDataEntity? = source
        for _ in file.model.entities {
            guard let current = entity else { return nil }
            if let found = mapping.entities.first(where: { $0.source == current.name }) { return found }
            entity = current.superentity.flatMap { file.model.entity($0) }
        }
        return nil
    }

    private func requireIdentity(_ name: String, _ source: CoreDataEntity) throws {
        guard let attribute = source.attribute(name), [.uuid, .string].contains(attribute.type) else {
            throw wrong("\(source.name).\(name) cannot be the identity: it is not a UUID", source.name, name)
        }
        guard attribute.declaredIn == source.root else {
            throw wrong(
                "\(source.name).\(name) cannot be the identity: not all entities of \(source.root) have it",
                source.name,
                name
            )
        }
    }

    // MARK: Fields

    private func fields(
        _ mapped: CoreDataMapping.Entity,
        _ source: CoreDataEntity,
        _ target: EntityDescription
    ) throws -> [CoreDataPlan.Field] {
        var fields = [CoreDataPlan.Field](repeating: .missing, count: target.attributes.count)
        fields[0] = .identity
        for (name, constant) in mapped.constants.sorted(by: { $0.key < $1.key }) {
            let position = try position(name, target, source)
            guard let value = constant.value(of: target.attributes[position]) else {
                let attribute = target.attributes[position]
                throw wrong(
                    "the constant for \(target.name).\(name) is not of the kind \(attribute.kind.rawValue)",
                    source.name,
                    name
                )
            }
            fields[position] = .constant(value)
        }
        var taken: Set<Int> = [0]
        for (name, destination) in mapped.attributes.sorted(by: { $0.key < $1.key }) {
            guard source.attribute(name) != nil else {
                // An attribute declared by a subentity is not a mistake in the mapping of its superentity.
                if file.model.family(of: mapped.source).contains(where: { $0.attribute(name) != nil }) { continue }
                throw wrong("\(source.name) has no attribute \(name)", source.name, name)
            }
            guard let destination else { continue }
            let position = try position(destination, target, source)
            try take(position, &taken, source, name, target)
            fields[position] = .attribute(name)
        }
        for (name, destination) in mapped.relationships.sorted(by: { $0.key < $1.key }) {
            guard let relationship = source.relationship(name) else {
                if file.model.family(of: mapped.source).contains(where: { $0.relationship(name) != nil }) { continue }
                throw wrong("\(source.name) has no relationship \(name)", source.name, name)
            }
            guard let destination else { continue }
            guard let place = try field(relationship, destination, source, target) else { continue }
            try take(place.position, &taken, source, name, target)
            fields[place.position] = place.field
        }
        try requireAll(fields, source, target)
        return fields
    }

    private func position(_ name: String, _ target: EntityDescription, _ source: CoreDataEntity) throws -> Int {
        guard let position = target.position(of: name) else {
            throw wrong("\(target.name) has no attribute \(name)", source.name, name)
        }
        return position
    }

    private func take(
        _ position: Int,
        _ taken: inout Set<Int>,
        _ source: CoreDataEntity,
        _ name: String,
        _ target: EntityDescription
    ) throws {
        guard taken.insert(position).inserted else {
            let attribute = target.attributes[position].name
            throw wrong("more than one thing is mapped to \(target.name).\(attribute)", source.name, name)
        }
    }

    /// The position and field of a relationship; nil if the schema stores it on the other side, which imports it.
    private func field(
        _ relationship: CoreDataRelationship,
        _ name: String,
        _ source: CoreDataEntity,
        _ target: EntityDescription
    ) throws -> (position: Int, field: CoreDataPlan.Field)? {
        guard let destination = target.relationship(name) else {
            throw wrong("\(target.name) has no relationship \(name)", source.name, relationship.name)
        }
        // The destination may be abstract or unmapped while the entities that inherit from it are mapped.
        let leadsTo = Set(file.model.family(of: relationship.destination).compactMap { mapped($0)?.target })
        guard leadsTo == [destination.destination] else {
            throw wrong(
                "\(source.name).\(relationship.name) leads to \(relationship.destination), which does not become "
                    + "a \(destination.destination), as \(target.name).\(name) needs",
                source.name,
                relationship.name
            )
        }
        switch (destination.kind, relationship.storage) {
        case (.toOne(let attribute), .column):
            return (try position(attribute, target, source), .reference(relationship.name))
        case (.manyToManyOwner(let attribute), .column):
            return (try position(attribute, target, source), .reference(relationship.name))
        case (.manyToManyOwner(let attribute), .table):
            return (try position(attribute, target, source), .links(relationship.name))
        case (.toMany, .otherSide), (.manyToManyInverse, .table): return nil
        default:
            throw wrong(
                "\(source.name).\(relationship.name) and \(target.name).\(name) are of different kinds",
                source.name,
                relationship.name
            )
        }
    }

    private func requireAll(
        _ fields: [CoreDataPlan.Field],
        _ source: CoreDataEntity,
        _ target: EntityDescription
    ) throws {
        for (attribute, field) in zip(target.attributes, fields)
        where field == .missing && !attribute.isOptional && attribute.kind != .links {
            throw wrong(
                "\(target.name).\(attribute.name) needs a value: map an attribute of \(source.name) to it, or give a constant",
                source.name,
                attribute.name
            )
        }
    }

    private func wrong(_ message: String, _ entity: String, _ property: String? = nil) -> HabitStoreError {
        HabitStoreError(
            .invalidValue,
            "the mapping does not fit: \(message)",
            at: .init(entity: entity, attribute: property)
        )
    }
}

/// Converts a value to an attribute's kind if that loses nothing.
enum ValueFit {
    /// The converted value, and the reason if it does not fit.
    static func fit(_ value: Value, to attribute: AttributeDescription) -> (value: Value, problem: String?) {
        if value.isNull { return (attribute.kind == .links ? .links([]) : .null, nil) }
        guard let fitted = fitted(value, attribute.kind), let normal = try? fitted.normalized() else {
            return (
                attribute.kind == .links ? .links([]) : .null,
                "does not fit \(attribute.name), a \(attribute.kind.rawValue)"
            )
        }
        return (normal, nil)
    }

    private static func fitted(_ value: Value, _ kind: AttributeKind) -> Value? {
        switch (value, kind) {
        case (.bool, .bool), (.int, .int), (.double, .double), (.string, .string), (.date, .date), (.uuid, .uuid),
            (.data, .data), (.strings, .strings), (.links, .links):
            return value
        case (.int(let number), .double):
            return Int64(exactly: Double(number)) == number ? .double(Double(number)) : nil
        case (.double(let number), .int): return Int64(exactly: number).map { .int($0) }
        case (.int(let number), .bool): return number == 0 || number == 1 ? .bool(number == 1) : nil
        case (.bool(let flag), .int): return .int(flag ? 1 : 0)
        case (.bool(let flag), .double): return .double(flag ? 1 : 0)
        case (.int(let number), .string): return .string(String(number))
        case (.double(let number), .string): return .string(String(number))
        case (.bool(let flag), .string): return .string(String(flag))
        case (.uuid(let id), .string): return .string(id.uuidString)
        case (.string(let text), .uuid): return UUID(uuidString: text).map { .uuid($0) }
        case (.string(let text), .int): return Int64(text).map { .int($0) }
        case (.string(let text), .double): return Double(text).flatMap { $0.isFinite ? .double($0) : nil }
        case (.string(let text), .strings): return .strings([text])
        case (.strings(let texts), .string): return texts.count == 1 ? .string(texts[0]) : nil
        case (.uuid(let id), .links): return .links([id])
        case (.string(let text), .data): return .data(Data(text.utf8))
        default: return nil
        }
    }
}
