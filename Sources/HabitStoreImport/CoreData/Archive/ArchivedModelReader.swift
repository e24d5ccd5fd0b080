import Foundation

/// Reads entities and their properties from an archived model.
struct ArchivedModelReader {
    let archive: KeyedArchive
    let maximumNesting: Int
    /// The bit of `NSFlagsKey` for "allows external storage".
    private static let externalStorageFlag = 4
    private let budget = Budget()

    /// Limits the number of attributes: a few bytes can encode an array that contains itself.
    private final class Budget {
        var left = 20_000
    }

    init(archive: KeyedArchive, maximumNesting: Int) {
        (self.archive, self.maximumNesting) = (archive, maximumNesting)
    }

    func entity(_ reference: KeyedArchive.Reference) -> ArchivedModel.Entity? {
        let fields = archive.fields(reference)
        guard let name = fields["NSEntityName"]?.text else { return nil }
        let parent = fields["NSSuperentity"]?.reference.flatMap { archive.fields($0)["NSEntityName"]?.text }
        return ArchivedModel.Entity(
            name: name,
            formerName: fields["NSRenamingIdentifier"]?.text,
            superentity: parent,
            isAbstract: fields["NSIsAbstract"]?.bool ?? false,
            className: fields["NSClassNameForEntity"]?.text,
            properties: archive.elements(fields["NSProperties"]?.reference).compactMap(property),
            uniqueness: archive.elements(fields["NSUniqueTuples"]?.reference).map { tuple in
                archive.elements(tuple).compactMap(propertyName)
            }.filter { !$0.isEmpty }
        )
    }

    /// The name of a property in a uniqueness constraint, which lists names or property descriptions.
    private func propertyName(_ reference: KeyedArchive.Reference) -> String? {
        if case .string(let name) = archive.node(reference) { return name }
        return archive.fields(described(reference))["NSPropertyName"]?.text
    }

    /// The property description that a reference leads to. For inherited properties, many versions of Core Data archive a stand-in
    /// (`_NSPropertyDescriptionProxy`) that refers to the description in the declaring entity.
    private func described(_ reference: KeyedArchive.Reference) -> KeyedArchive.Reference {
        var current = reference
        for _ in 0..<maximumNesting {
            let fields = archive.fields(current)
            guard fields["NSPropertyName"] == nil, let next = fields["NSUnderlyingProperty"]?.reference else { break }
            current = next
        }
        return current
    }

    private func property(_ listed: KeyedArchive.Reference) -> ArchivedModel.Property? {
        let reference = described(listed)
        let fields = archive.fields(reference)
        guard let name = fields["NSPropertyName"]?.text else { return nil }
        if fields["NSIsTransient"]?.bool == true { return .notStored(name) }
        if fields["NSAttributeType"] != nil { return attribute(reference, 0).map { .attribute($0) } }
        guard fields["NSMaxCount"] != nil || fields["_NSDestinationEntityName"] != nil else { return .notStored(name) }
        return relationship(name, fields)
    }

    private func relationship(_ name: String, _ fields: [String: KeyedArchive.Field]) -> ArchivedModel.Property {
        func target(_ direct: String, _ object: String, _ key: String) -> String? {
            fields[direct]?.text ?? fields[object]?.reference.flatMap { archive.fields(described($0))[key]?.text }
        }
        guard let destination = target("_NSDestinationEntityName", "NSDestinationEntity", "NSEntityName") else {
            return .notStored(name)
        }
        return .relationship(
            ArchivedRelationship(
                name: name,
                destination: destination,
                inverse: target("_NSInverseRelationshipName", "NSInverseRelationship", "NSPropertyName"),
                isToMany: fields["NSMaxCount"]?.int != 1,
                isOrdered: fields["NSIsOrdered"]?.bool ?? fields["NSOrdered"]?.bool ?? false,
                isOptional: fields["NSIsOptional"]?.bool ?? false,
                deleteRule: fields["NSDeleteRule"]?.int ?? 0
            )
        )
    }

    private func attribute(_ reference: KeyedArchive.Reference, _ depth: Int) -> ArchivedAttribute? {
        let fields = archive.fields(reference)
        budget.left -= 1
        guard budget.left > 0, depth < maximumNesting, let name = fields["NSPropertyName"]?.text,
            let type = fields["NSAttributeType"]?.int
        else { return nil }
        return ArchivedAttribute(
            name: name,
            type: type,
            isOptional: fields["NSIsOptional"]?.bool ?? false,
            isDerived: fields["NSDerivationExpression"] != nil,
            allowsExternalStorage: (fields["NSFlagsKey"]?.int ?? 0) & Self.externalStorageFlag != 0,
            defaultValue: fields["NSDefaultValue"].flatMap(words),
            valueClass: fields["NSAttributeValueClassName"]?.text,
            transformer: fields["NSValueTransformerName"]?.text,
            elements: type == CoreDataAttributeType.composite.rawValue ? elements(fields, depth) : []
        )
    }

    /// The elements of a composite. Their key is undocumented, so every array of attributes is taken for them.
    private func elements(_ fields: [String: KeyedArchive.Field], _ depth: Int) -> [ArchivedAttribute] {
        for key in fields.keys.sorted() {
            guard key != "$class", key != "NSEntity", let reference = fields[key]?.reference else { continue }
            let members = archive.elements(reference).compactMap { attribute($0, depth + 1) }
            if !members.isEmpty { return members }
        }
        return []
    }

    /// A default value in words; for an object of unknown kind, its class.
    private func words(_ field: KeyedArchive.Field) -> String? {
        switch field.node {
        case .null: return nil
        case .bool(let flag): return String(flag)
        case .int(let number): return String(number)
        case .real(let number): return String(number)
        case .string(let text): return field.isNull ? nil : "\"\(text)\""
        case .data(let bytes): return "\(bytes.count) bytes"
        case .date(let date): return "\(date.timeIntervalSinceReferenceDate) seconds since 2001"
        case .uid, .array: return nil
        case .dictionary: return field.reference.flatMap(words)
        }
    }

    private func words(_ reference: KeyedArchive.Reference) -> String? {
        let fields = archive.fields(reference)
        if let seconds = fields["NS.time"]?.node {
            switch seconds {
            case .real(let number): return "\(number) seconds since 2001"
            case .int(let number): return "\(number) seconds since 2001"
            default: break
            }
        }
        if let text = fields["NS.string"]?.text ?? fields["NS.relative"]?.text { return "\"\(text)\"" }
        if case .data(let bytes)? = fields["NS.uuidbytes"]?.node, bytes.count == 16 {
            return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)).uuidString }
        }
        return archive.className(reference).map { "a \($0)" }
    }
}
