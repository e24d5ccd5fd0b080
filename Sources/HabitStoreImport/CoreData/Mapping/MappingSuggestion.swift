import HabitStore

/// Suggests a mapping from names and types, for someone familiar with the app to check. What it is not sure of is a question.
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
        let chosen = chosenTargets()
        let proposed = chosen.sure.isEmpty && chosen.rivals.isEmpty ? try targetsByStructure() : [:]
        return CoreDataMapping(
            entities: try file.model.entities.filter { !$0.isAbstract }.map { source in
                var about = try self.about(source)
                guard let target = chosen.sure[source.name] else {
                    about["target"] = "none is called like it; " + needs
                    var result = CoreDataMapping.Entity(source: source.name, target: nil)
                    for attribute in source.attributes { result.attributes[attribute.name] = .some(nil) }
                    result.about = about
                    if let rival = chosen.rivals[source.name] {
                        let name = schema.entities[rival].name
                        result.questions["target"] = "\(name), or null? another entity could be \(name), too"
                    } else if let target = proposed[source.name] {
                        result.questions["target"] = proposal(source, schema.entities[target])
                    }
                    return result
                }
                let description = schema.entities[target]
                about["target"] = "\(description.name), which is called like it; " + needs
                var result = try entity(source, description, chosen.sure)
                for (name, attribute) in result.attributes {
                    if let attribute { about[name, default: ""] += "; becomes \(attribute): means the same" }
                }
                result.about = about
                return result
            }
        )
    }

    /// The question whether an entity without a known name is one of the schema's.
    private func proposal(_ source: CoreDataEntity, _ target: EntityDescription) -> String {
        let matches = matches(source, target)
        let attributes = matches.sure.merging(matches.proposed) { sure, _ in sure }.sorted { $0.key < $1.key }
        let words = attributes.map { "\($0.key) as \($0.value)" }.joined(separator: ", ")
        return "\(target.name), or null? only its types and what it leads to say so; \(words)"
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

    /// The target of each entity, by similarity of names and the number of matching attributes. Of several entities with one target, only
    /// the one with the nearest name is sure.
    private func chosenTargets() -> (sure: [String: Int], rivals: [String: Int]) {
        var found: [(source: String, target: Int, name: Int)] = []
        for source in file.model.entities where !source.isAbstract {
            var best: (target: Int, score: Int, name: Int)?
            for (position, target) in schema.entities.enumerated() {
                let name = MappingWords.nearness(String(source.name.dropFirst(prefix)), target.name)
                guard name > 0 else { continue }
                let score = name + matches(source, target).sure.count
                if score > best?.score ?? 0 { best = (position, score, name) }
            }
            if let best { found.append((source.name, best.target, best.name)) }
        }
        var (sure, rivals): ([String: Int], [String: Int]) = ([:], [:])
        for item in found {
            let isNearest = !found.contains {
                $0.target == item.target && $0.source != item.source && $0.name >= item.name
            }
            if isNearest { sure[item.source] = item.target } else { rivals[item.source] = item.target }
        }
        return (sure, rivals)
    }

    /// The target's attributes by the source's, each used at most once.
    private struct Matches {
        /// By similar names, best matches first.
        var sure: [String: String] = [:]
        /// What a required attribute may be: a creation date, or the first attribute of its type.
        var proposed: [String: String] = [:]
    }

    private func matches(_ source: CoreDataEntity, _ target: EntityDescription) -> Matches {
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
        var result = Matches()
        var taken: Set<String> = []
        for pair in pairs
        where (result.sure[pair.source] ?? result.proposed[pair.source]) == nil && taken.insert(pair.target).inserted {
            // When a record was made need not be the day that it is about.
            let isCreation = MappingWords.nearness(pair.source, "createdAt") > pair.nearness
            if isCreation { result.proposed[pair.source] = pair.target } else { result.sure[pair.source] = pair.target }
        }
        for other in target.attributes.dropFirst()
        where !other.isOptional && other.defaultValue == nil && !taken.contains(other.name)
            && [.string, .date].contains(other.kind)
        {
            let free = source.attributes.first { attribute in
                attribute.type.kind == other.kind && attribute.column != nil && result.sure[attribute.name] == nil
                    && result.proposed[attribute.name] == nil && attribute.name != identities[source.root]
                    && MappingWords.isNothingElse(attribute.name)
            }
            if let free { result.proposed[free.name] = other.name }
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
    ) throws -> CoreDataMapping.Entity {
        let matches = matches(source, target)
        var result = CoreDataMapping.Entity(source: source.name, target: target.name, identity: identities[source.root])
        for attribute in source.attributes where attribute.name != result.identity {
            result.attributes[attribute.name] = .some(matches.sure[attribute.name])
            guard let name = matches.proposed[attribute.name] else { continue }
            result.questions[attribute.name] =
                "\(name), or null? \(target.name) needs one, and its name does not say so"
        }
        for (name, attribute) in matches.sure
        where target.attributes.contains(where: { $0.name == attribute && !$0.isOptional }) {
            let (empty, all) = try counts(source, name)
            guard 2 * empty > all else { continue }
            result.questions[name] = "\(attribute), or null? \(empty) of \(all) records have none, and would be refused"
        }
        var filled = Set(matches.sure.values)
        for relationship in source.relationships {
            result.relationships[relationship.name] = .some(nil)
            guard let (name, attribute) = self.relationship(relationship, target, targets, filled) else { continue }
            let own = MappingWords.nearness(relationship.name, name)
            let rival = source.relationships.filter { other in
                attribute != nil && other.name != relationship.name
                    && self.relationship(other, target, targets, Set(matches.sure.values))?.name == name
            }.map { MappingWords.nearness($0.name, name) }.max()
            if let rival, own <= rival {
                if own == rival {
                    result.questions[relationship.name] = "\(name), or null? another one could be it, too"
                }
                continue
            }
            result.relationships[relationship.name] = .some(name)
            if let attribute { filled.insert(attribute) }
        }
        filled.formUnion(matches.proposed.values)
        for attribute in target.attributes.dropFirst()
        where !attribute.isOptional && attribute.kind != .links && !filled.contains(attribute.name) {
            if let constant = Self.constant(attribute) {
                result.constants[attribute.name] = constant
            } else {
                result.questions[attribute.name] =
                    "what is it? \(target.name) needs one: map an attribute to it, or give a constant"
            }
        }
        return result
    }

    /// How many records of an entity have no value of an attribute, and how many there are.
    private func counts(_ source: CoreDataEntity, _ name: String) throws -> (empty: Int64, all: Int64) {
        guard let column = source.attribute(name)?.column else { return (0, 0) }
        let from = "FROM \(SourceConnection.quoted(source.table)) WHERE Z_ENT = \(source.number)"
        let all = try file.connection.int("SELECT count(*) \(from)") ?? 0
        return (all - (try file.connection.int("SELECT count(\(SourceConnection.quoted(column))) \(from)") ?? 0), all)
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

    /// The default that the schema declares.
    private static func constant(_ attribute: AttributeDescription) -> MappedConstant? {
        switch attribute.defaultValue {
        case .bool(let flag)?: .bool(flag)
        case .int(let number)?: .int(number)
        case .double(let number)?: .double(number)
        case .string(let text)?: .string(text)
        default: nil
        }
    }
}

extension CoreDataMapping {
    /// Suggests a mapping of a file to a schema, by known names. It lists everything that the file has; what has no place yet is null, and
    /// what only types suggest is a question.
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
    package static func isNothingElse(_ name: String) -> Bool {
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
