import HabitStore

/// Suggests a mapping from names and types, for someone familiar with the app to check.
struct MappingSuggestion {
    private let file: CoreDataFile
    private let schema: Schema
    private let identities: [String: String]
    private let prefix: Int

    init(_ file: CoreDataFile, _ schema: Schema) throws {
        self.file = file
        self.schema = schema
        identities = try IdentityRule.choose(file)
        prefix = MappingWords.commonPrefix(file.model.entities.map(\.name))
    }

    func mapping() throws -> CoreDataMapping {
        let named = chosenTargets()
        let targets = named.isEmpty ? try targetsByStructure() : named
        return CoreDataMapping(
            entities: try file.model.entities.filter { !$0.isAbstract }.map { source in
                var about = try self.about(source)
                guard let target = targets[source.name] else {
                    about["target"] = "none is called like it; " + needs
                    var result = CoreDataMapping.Entity(source: source.name, target: nil)
                    for attribute in source.attributes { result.attributes[attribute.name] = .some(nil) }
                    result.about = about
                    return result
                }
                let description = schema.entities[target]
                about["target"] =
                    named.isEmpty
                    ? "\(description.name), since its attributes and what it leads to are of the types that one needs; "
                        + needs
                    : "\(description.name), which is called like it; " + needs
                var result = entity(source, description, targets)
                for (name, attribute) in result.attributes {
                    guard let attribute else { continue }
                    let isNamed = MappingWords.nearness(name, attribute) > 0
                    let why = isNamed ? "means the same" : "the first of its type"
                    about[name, default: ""] += "; becomes \(attribute): \(why)"
                }
                result.about = about
                return result
            }
        )
    }

    // MARK: Descriptions

    /// The attributes of each entity of the schema.
    private var needs: String {
        schema.entities.map { entity in
            let attributes = entity.attributes.dropFirst().filter { $0.kind != .links }.map { attribute in
                "\(attribute.name) \(attribute.kind.rawValue)\(attribute.isOptional ? "?" : "")"
            }
            return "\(entity.name) has \(attributes.joined(separator: ", "))"
        }.joined(separator: "; ")
    }

    private func about(_ source: CoreDataEntity) throws -> [String: String] {
        var result: [String: String] = [:]
        let from = "FROM \(SourceConnection.quoted(source.table)) WHERE Z_ENT = \(source.number)"
        let all = try file.connection.int("SELECT count(*) \(from)") ?? 0
        result["records"] = "\(all)"
        for attribute in source.attributes {
            guard let column = attribute.column else { continue }
            let filled = try file.connection.int("SELECT count(\(SourceConnection.quoted(column))) \(from)") ?? 0
            let need = attribute.isOptional ? "" : ", required"
            result[attribute.name] = "\(attribute.type.name)\(need), in \(filled) of \(all) records"
        }
        for relationship in source.relationships {
            let many = relationship.isToMany ? "many " : "one "
            result[relationship.name] = "leads to \(many)\(relationship.destination)"
        }
        return result
    }

    // MARK: Entities

    /// For a file without similar names: picks the entity with the most records that has the attributes an entity of the schema requires,
    /// and that refers to an entity with a text attribute.
    private func targetsByStructure() throws -> [String: Int] {
        var best: (records: Int, source: String, target: Int, owner: String, ownerTarget: Int)?
        for (position, target) in schema.entities.enumerated() {
            for relationship in target.relationships {
                guard case .toOne = relationship.kind,
                    let other = schema.entities.firstIndex(where: { $0.name == relationship.destination })
                else { continue }
                for source in file.model.entities where !source.isAbstract && has(source, needsOf: target) {
                    let records = try file.count(of: source)
                    guard records > best?.records ?? 0 else { continue }
                    for leading in source.relationships {
                        guard !leading.isToMany, case .column = leading.storage,
                            let owner = file.model.family(of: leading.destination).first(where: {
                                !$0.isAbstract && $0.name != source.name
                                    && $0.attributes.contains { $0.type == .string }
                            })
                        else { continue }
                        best = (records, source.name, position, owner.name, other)
                        break
                    }
                }
            }
        }
        return best.map { [$0.source: $0.target, $0.owner: $0.ownerTarget] } ?? [:]
    }

    private func has(_ source: CoreDataEntity, needsOf target: EntityDescription) -> Bool {
        target.attributes.dropFirst().allSatisfy { attribute in
            attribute.isOptional || attribute.defaultValue != nil || attribute.kind == .links
                || source.attributes.contains { $0.type.kind == attribute.kind && $0.column != nil }
        }
    }

    /// The target of each entity, by similarity of names and the number of matching attributes.
    private func chosenTargets() -> [String: Int] {
        var result: [String: Int] = [:]
        for source in file.model.entities where !source.isAbstract {
            var best: (target: Int, score: Int)?
            for (position, target) in schema.entities.enumerated() {
                let name = MappingWords.nearness(String(source.name.dropFirst(prefix)), target.name)
                guard name > 0 else { continue }
                let score = name + matched(source, target).count
                if score > best?.score ?? 0 { best = (position, score) }
            }
            if let best { result[source.name] = best.target }
        }
        return result
    }

    /// The target's attributes by the source's, each used at most once, best matches first.
    private func matched(_ source: CoreDataEntity, _ target: EntityDescription) -> [String: String] {
        let stored = Set(
            target.relationships.compactMap { relationship -> String? in
                switch relationship.kind {
                case .toOne(let attribute), .manyToManyOwner(let attribute): attribute
                case .toMany, .manyToManyInverse: nil
                }
            }
        )
        var pairs: [(nearness: Int, source: String, target: String)] = []
        for attribute in source.attributes {
            for other in target.attributes.dropFirst() where !stored.contains(other.name) {
                let nearness = MappingWords.nearness(attribute.name, other.name)
                if nearness > 0, Self.fits(attribute.type, other.kind) {
                    pairs.append((nearness, attribute.name, other.name))
                }
            }
        }
        pairs.sort { ($1.nearness, $0.source, $0.target) < ($0.nearness, $1.source, $1.target) }
        var result: [String: String] = [:]
        var taken: Set<String> = []
        for pair in pairs where result[pair.source] == nil && taken.insert(pair.target).inserted {
            result[pair.source] = pair.target
        }
        // A required text or date without a similar name gets the first unused attribute of its kind.
        for other in target.attributes.dropFirst()
        where !other.isOptional && other.defaultValue == nil && !taken.contains(other.name)
            && [.string, .date].contains(other.kind)
        {
            let free = source.attributes.first { attribute in
                attribute.type.kind == other.kind && attribute.column != nil && result[attribute.name] == nil
                    && attribute.name != identities[source.root] && MappingWords.isNothingElse(attribute.name)
            }
            if let free { result[free.name] = other.name }
        }
        return result
    }

    private static func fits(_ type: CoreDataAttributeType, _ kind: AttributeKind) -> Bool {
        switch (type.kind, kind) {
        case let (left, right) where left == right: return true
        case (.int, .double), (.int, .bool), (.int, .string), (.double, .string), (.uuid, .string), (.string, .strings):
            return true
        default: return false
        }
    }

    private func entity(
        _ source: CoreDataEntity,
        _ target: EntityDescription,
        _ targets: [String: Int]
    ) -> CoreDataMapping.Entity {
        let matched = matched(source, target)
        var result = CoreDataMapping.Entity(source: source.name, target: target.name, identity: identities[source.root])
        for attribute in source.attributes where attribute.name != result.identity {
            result.attributes[attribute.name] = .some(matched[attribute.name])
        }
        var filled = Set(matched.values)
        for relationship in source.relationships {
            let found = self.relationship(relationship, target, targets, filled)
            result.relationships[relationship.name] = .some(found?.name)
            if let attribute = found?.attribute { filled.insert(attribute) }
        }
        for attribute in target.attributes.dropFirst()
        where !attribute.isOptional && attribute.kind != .links && !filled.contains(attribute.name) {
            result.constants[attribute.name] = Self.constant(attribute)
        }
        return result
    }

    private func relationship(
        _ relationship: CoreDataRelationship,
        _ target: EntityDescription,
        _ targets: [String: Int],
        _ filled: Set<String>
    ) -> (name: String, attribute: String?)? {
        let family = file.model.family(of: relationship.destination)
        guard let leadsTo = family.compactMap({ targets[$0.name] }).first else { return nil }
        for candidate in target.relationships where candidate.destination == schema.entities[leadsTo].name {
            switch (candidate.kind, relationship.storage) {
            case (.toOne(let attribute), .column) where !filled.contains(attribute): return (candidate.name, attribute)
            case (.manyToManyOwner(let attribute), .table) where !filled.contains(attribute):
                return (candidate.name, attribute)
            case (.toMany, .otherSide), (.manyToManyInverse, .table): return (candidate.name, nil)
            default: continue
            }
        }
        return nil
    }

    private static func constant(_ attribute: AttributeDescription) -> MappedConstant {
        switch attribute.defaultValue {
        case .bool(let flag)?: return .bool(flag)
        case .int(let number)?: return .int(number)
        case .double(let number)?: return .double(number)
        case .string(let text)?: return .string(text)
        default: break
        }
        switch attribute.kind {
        case .bool: return .bool(false)
        case .int: return attribute.name.hasSuffix("Period") || attribute.name.hasSuffix("Days") ? .int(1) : .int(0)
        case .double: return .double(0)
        case .date: return .string("2001-01-01T00:00:00Z")
        default: return .string("")
        }
    }
}

extension CoreDataMapping {
    /// A mapping of a file to a schema that goes by names and types. Everything that the file has stands in it: what has no
    /// place yet as null.
    public static func suggested(for file: CoreDataFile, to schema: Schema) throws
        -> CoreDataMapping
    {
        try MappingSuggestion(file, schema).mapping()
    }
}

/// Synonyms in the models of different apps.
package enum MappingWords {
    private static let alike: [[String]] = [
        ["habit", "task", "track", "goal", "activity", "routine"],
        ["entry", "outcome", "repetition", "completion", "checkin", "log", "record", "mood", "event", "occurrence"],
        ["tag", "label", "category", "keyword"],
        ["draft", "post"],
        ["name", "title", "caption"],
        ["createdat", "createddate", "creationdate", "created", "dateadded", "addeddate", "effectivedate"],
        ["date", "timestamp", "time", "day", "startdate", "createdat", "createddate"],
        ["note", "notes", "comment", "comments", "remark", "text", "instructions"],
        ["value", "amount", "quantity", "rating", "score", "doublevalue"],
        ["isarchived", "archived", "ishidden", "hidden"],
        ["content", "text", "body", "message"],
        ["unit", "units"], ["target", "goal", "goalvalue"], ["streak", "currentstreak"],
        ["category", "groupidentifier", "group"],
    ]

    /// The similarity of two names: ``same`` for equal names, less for synonyms the later they are in their list, and 0 for all others.
    package static func nearness(_ left: String, _ right: String) -> Int {
        let (left, right) = (plain(left), plain(right))
        if left == right || singular(left) == singular(right) { return same }
        let distances = alike.compactMap { words -> Int? in
            guard let first = words.firstIndex(of: left) ?? words.firstIndex(of: singular(left)),
                let second = words.firstIndex(of: right) ?? words.firstIndex(of: singular(right))
            else { return nil }
            return first + second
        }
        return distances.min().map { same - 1 - $0 } ?? 0
    }

    /// Whether a name has no known meaning.
    static func isNothingElse(_ name: String) -> Bool {
        let word = plain(name)
        return !alike.contains { $0.contains(word) || $0.contains(singular(word)) }
    }

    /// The similarity of equal names.
    static let same = 100

    private static func plain(_ name: String) -> String {
        String((name.split(separator: ".").last ?? "").lowercased().filter { $0.isLetter || $0.isNumber })
    }

    private static func singular(_ name: String) -> String {
        if name.hasSuffix("ies") { return name.dropLast(3) + "y" }
        return name.count > 3 && name.hasSuffix("s") ? String(name.dropLast()) : name
    }

    /// The length of the prefix that all names share before a capital letter: `OCKCD` in `OCKCDTask` and `OCKCDOutcome`.
    static func commonPrefix(_ names: [String]) -> Int {
        guard names.count > 1, let first = names.first else { return 0 }
        var length = first.count
        for name in names { length = min(length, zip(first, name).prefix { $0 == $1 }.count) }
        while length > 0, !names.allSatisfy({ $0.dropFirst(length).first?.isUppercase == true }) { length -= 1 }
        return length
    }
}
