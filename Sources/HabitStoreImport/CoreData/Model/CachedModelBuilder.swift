import Foundation
@_spi(Engines) import HabitStore

/// Builds the model of a file from the model archived in it, for the entities that have tables.
struct CachedModelBuilder {
    private let archived: [String: ArchivedModel.Entity]
    /// The model's entities, by the numbers in the file.
    private var numbered: [Int: ArchivedModel.Entity] = [:]
    private let tables: StoreTables
    private(set) var oddities: [CoreDataOddity] = []

    init(_ model: ArchivedModel, _ tables: StoreTables) {
        archived = Dictionary(model.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.tables = tables
    }

    /// The entities, without columns. Nil if the file has entities that the archived model lacks: the model is then of another version.
    mutating func entities() -> [CoreDataEntity]? {
        matchNames()
        let unknown = tables.entities.filter { numbered[$0.number] == nil }
        guard unknown.isEmpty else {
            oddities.note(
                "modelCacheStale",
                "the model that is kept in the file lacks \(unknown.map(\.name).joined(separator: ", ")): it is not used",
                count: unknown.count
            )
            return nil
        }
        let here = Set(numbered.values.map(\.name))
        let elsewhere = archived.keys.filter { !here.contains($0) }.sorted()
        if !elsewhere.isEmpty {
            oddities.note(
                "entityElsewhere",
                "the model has \(elsewhere.joined(separator: ", ")), and the file does not: they are kept elsewhere, or nowhere",
                count: elsewhere.count
            )
        }
        var result: [CoreDataEntity] = []
        for row in tables.entities {
            if let made = entity(row) { result.append(made) }
        }
        return result
    }

    /// Finds the entity for each number. An in-place migration renames an entity in the model but leaves its old name next to the number.
    private mutating func matchNames() {
        for row in tables.entities { numbered[row.number] = archived[row.name] }
        let taken = Set(numbered.values.map(\.name))
        for row in tables.entities where numbered[row.number] == nil {
            let candidates = archived.values.filter { $0.formerName == row.name && !taken.contains($0.name) }
            guard candidates.count == 1, let entity = candidates.first else { continue }
            numbered[row.number] = entity
            oddities.note(
                "entityRenamed",
                "\(row.name) is called \(entity.name) in the model, and not yet in the file's list of entities",
                entity: entity.name
            )
        }
    }

    private mutating func entity(_ row: StoreTables.NumberedEntity) -> CoreDataEntity? {
        guard let entity = numbered[row.number] else { return nil }
        let rows = tables.ancestry(of: row)
        let ancestry = rows.compactMap { numbered[$0.number] }
        let root = ancestry.last?.name ?? entity.name
        guard let table = tables.table(of: root) ?? rows.last.flatMap({ tables.table(of: $0.name) }) else {
            if !entity.isAbstract {
                oddities.note("tableMissing", "\(entity.name) has no table", entity: entity.name)
            }
            return nil
        }
        // An entity has all properties of its ancestors, whether or not the archive repeats them.
        var inherited: [String: ArchivedModel.Property] = [:]
        for ancestor in ancestry.reversed() {
            for property in ancestor.properties { inherited[property.name] = property }
        }
        let properties = inherited.values.sorted { $0.name < $1.name }
        var notStored: [String] = []
        var attributes: [CoreDataAttribute] = []
        var relationships: [CoreDataRelationship] = []
        for property in properties {
            let declaredIn = ancestry.last { $0.properties.contains { $0.name == property.name } }
            let owner = declaredIn?.name ?? entity.name
            switch property {
            case .attribute(let attribute): attributes += flattened(attribute, prefix: "", owner: owner, false, 0)
            case .relationship(var relationship):
                relationship.declaredIn = owner
                relationships.append(relationship)
            case .notStored(let name): notStored.append(name)
            }
        }
        return CoreDataEntity(
            name: entity.name,
            number: row.number,
            superentity: ancestry.count > 1 ? ancestry[1].name : nil,
            root: root,
            isAbstract: entity.isAbstract,
            className: entity.className,
            table: table,
            attributes: attributes,
            relationships: relationships,
            uniqueness: ancestry.flatMap(\.uniqueness).uniqued(),
            notStored: notStored
        )
    }

    /// An attribute, or the elements of a composite with dotted names.
    private mutating func flattened(
        _ attribute: ArchivedAttribute,
        prefix: String,
        owner: String,
        _ isWithinOptional: Bool,
        _ depth: Int
    ) -> [CoreDataAttribute] {
        let isOptional = isWithinOptional || attribute.isOptional
        if attribute.type == CoreDataAttributeType.composite.rawValue, !attribute.elements.isEmpty {
            return attribute.elements.flatMap {
                flattened($0, prefix: "\(prefix)\(attribute.name).", owner: owner, isOptional, depth + 1)
            }
        }
        let type = CoreDataAttributeType(rawValue: attribute.type)
        if type == nil || type == .composite {
            oddities.note(
                "typeUnknown",
                "\(owner).\(prefix)\(attribute.name) has the type \(attribute.type), which is not known: it is read as stored",
                entity: owner,
                property: prefix + attribute.name
            )
        }
        return [
            CoreDataAttribute(
                name: prefix + attribute.name,
                type: type == .composite ? .undefined : type ?? .undefined,
                isOptional: isOptional,
                isDerived: attribute.isDerived,
                allowsExternalStorage: attribute.allowsExternalStorage,
                defaultValue: attribute.defaultValue,
                valueClass: attribute.valueClass,
                transformer: attribute.transformer,
                declaredIn: owner,
                isGuessed: false,
                column: nil
            )
        ]
    }

}

extension Array where Element: Hashable {
    /// The distinct elements, in order.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

/// The model that Core Data stores in its file: a compressed keyed archive of the app's `NSManagedObjectModel`.
struct ArchivedModel {
    struct Entity {
        let name: String
        /// The entity's name in the previous version.
        let formerName: String?
        let superentity: String?
        let isAbstract: Bool
        let className: String?
        let properties: [Property]
        let uniqueness: [[String]]
    }

    enum Property {
        case attribute(ArchivedAttribute)
        /// Declared in the entity that lists it, which may inherit it.
        case relationship(CoreDataRelationship)
        /// Transient attributes, fetched properties and properties of unknown kinds.
        case notStored(String)

        var name: String {
            switch self {
            case .attribute(let attribute): return attribute.name
            case .relationship(let relationship): return relationship.name
            case .notStored(let name): return name
            }
        }
    }

    let entities: [Entity]

    private static let maximumSize = 64 << 20
    private static let maximumNesting = 8
    private let archive: KeyedArchive

    /// Nil if the bytes are not an archived model.
    init?(_ cache: Data) {
        guard let archive = Self.archive(in: cache) else { return nil }
        self.archive = archive
        let root = archive.fields(archive.root)
        let reader = ArchivedModelReader(archive: archive, maximumNesting: Self.maximumNesting)
        entities = archive.elements(root["NSEntities"]?.reference).compactMap(reader.entity)
        guard !entities.isEmpty else { return nil }
    }

    private static func archive(in cache: Data) -> KeyedArchive? {
        if let plain = KeyedArchive(cache) { return plain }
        for wrapping in Inflation.Wrapping.allCases {
            if let bytes = Inflation.inflate(cache, wrapping, limit: maximumSize), let archive = KeyedArchive(bytes) {
                return archive
            }
        }
        return nil
    }
}

struct ArchivedAttribute {
    let name: String
    let type: Int
    let isOptional: Bool
    let isDerived: Bool
    let allowsExternalStorage: Bool
    let defaultValue: String?
    let valueClass: String?
    let transformer: String?
    let elements: [ArchivedAttribute]
}

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
            properties: archive.elements(fields["NSProperties"]?.reference).compactMap { property($0, of: name) },
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

    private func property(_ listed: KeyedArchive.Reference, of entity: String) -> ArchivedModel.Property? {
        let reference = described(listed)
        let fields = archive.fields(reference)
        guard let name = fields["NSPropertyName"]?.text else { return nil }
        if fields["NSIsTransient"]?.bool == true { return .notStored(name) }
        if fields["NSAttributeType"] != nil { return attribute(reference, 0).map { .attribute($0) } }
        guard fields["NSMaxCount"] != nil || fields["_NSDestinationEntityName"] != nil else { return .notStored(name) }
        return relationship(name, of: entity, fields)
    }

    private static let deleteRules = ["noAction", "nullify", "cascade", "deny"]

    private func relationship(
        _ name: String,
        of entity: String,
        _ fields: [String: KeyedArchive.Field]
    ) -> ArchivedModel.Property {
        func target(_ direct: String, _ object: String, _ key: String) -> String? {
            fields[direct]?.text ?? fields[object]?.reference.flatMap { archive.fields(described($0))[key]?.text }
        }
        guard let destination = target("_NSDestinationEntityName", "NSDestinationEntity", "NSEntityName") else {
            return .notStored(name)
        }
        let rule = fields["NSDeleteRule"]?.int ?? 0
        return .relationship(
            CoreDataRelationship(
                name: name,
                destination: destination,
                inverse: target("_NSInverseRelationshipName", "NSInverseRelationship", "NSPropertyName"),
                isToMany: fields["NSMaxCount"]?.int != 1,
                isOrdered: fields["NSIsOrdered"]?.bool ?? fields["NSOrdered"]?.bool ?? false,
                isOptional: fields["NSIsOptional"]?.bool ?? false,
                deleteRule: Self.deleteRules.indices.contains(rule) ? Self.deleteRules[rule] : "unknown",
                declaredIn: entity,
                isGuessed: false
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
