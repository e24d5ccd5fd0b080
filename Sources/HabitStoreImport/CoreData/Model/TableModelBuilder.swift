import HabitStore

/// Guesses the model of a file without one from its tables: from column names and declared types, from the stored values, and from the
/// names of link tables. Each guess is marked as one.
struct TableModelBuilder {
    let connection: SourceConnection
    let tables: StoreTables
    private(set) var oddities: [CoreDataOddity] = []

    init(_ connection: SourceConnection, _ tables: StoreTables) {
        self.connection = connection
        self.tables = tables
    }

    /// The entities, as far as they can be guessed.
    mutating func entities() throws -> [CoreDataEntity] {
        var result: [CoreDataEntity] = []
        for numbered in tables.entities {
            let ancestry = tables.ancestry(of: numbered)
            let root = ancestry.last?.name ?? numbered.name
            guard let table = tables.table(of: root) else {
                oddities.note("tableMissing", "\(numbered.name) has no table", entity: numbered.name)
                continue
            }
            result.append(
                CoreDataEntity(
                    name: numbered.name,
                    number: numbered.number,
                    superentity: ancestry.count > 1 ? ancestry[1].name : nil,
                    root: root,
                    isAbstract: false,
                    className: nil,
                    table: table,
                    attributes: [],
                    relationships: [],
                    uniqueness: [],
                    notStored: []
                )
            )
        }
        var model = CoreDataModel(origin: .tables, entities: result)
        for entity in result where entity.superentity == nil { try guessColumns(entity, &model) }
        guessTables(&model)
        if !result.isEmpty {
            oddities.note(
                "modelGuessed",
                "the file keeps no model: names, types and relationships are guessed from its tables"
            )
        }
        return model.entities
    }

    // MARK: Columns

    mutating func guessColumns(_ root: CoreDataEntity, _ model: inout CoreDataModel) throws {
        for column in tables.columns[root.table, default: []] {
            let name = column.name
            guard name.hasPrefix("Z"), !name.hasPrefix("Z_"), name.count > 1 else { continue }
            let second = name.dropFirst()
            // `Z14_TASK` holds the entity of `ZTASK`'s target; `Z2ITEMS` is the other side of a to-many relationship.
            let digits = second.prefix { $0.isASCII && $0.isNumber }
            if !digits.isEmpty {
                if second.dropFirst(digits.count).first != "_" { guessOwner(name, Int(digits), root, &model) }
                continue
            }
            let owner = try owner(of: name, root, model)
            if let relationship = try guessReference(column, root, model, owner) {
                add(relationship: relationship, declaredIn: owner, &model)
            } else {
                add(try guessAttribute(column, root, owner), &model)
            }
        }
    }

    /// The entity of a family whose records alone have values in a column; the root if there are none or several.
    func owner(of column: String, _ root: CoreDataEntity, _ model: CoreDataModel) throws -> String {
        let name = SourceConnection.quoted(column)
        let table = SourceConnection.quoted(root.table)
        let statement = try connection.prepare("SELECT DISTINCT Z_ENT FROM \(table) WHERE \(name) NOT NULL LIMIT 2")
        var numbers: [Int64] = []
        while try statement.step() { numbers.append(statement.optionalInt(0) ?? 0) }
        guard numbers.count == 1, let entity = model.entity(number: Int(numbers[0])), entity.root == root.name else {
            return root.name
        }
        return entity.name
    }

    func guessAttribute(
        _ column: StoreTables.Column,
        _ root: CoreDataEntity,
        _ owner: String
    ) throws -> CoreDataAttribute {
        let type: CoreDataAttributeType
        switch column.declaredType {
        case "VARCHAR": type = .string
        case "TIMESTAMP": type = .date
        case "FLOAT": type = .double
        case "DECIMAL": type = .decimal
        case "BLOB": type = try guessBytes(column.name, root.table)
        case "INTEGER": type = try guessNumber(column.name, root.table)
        default: type = .undefined
        }
        return CoreDataAttribute(
            name: column.name.dropFirst().lowercased(),
            type: type,
            isOptional: true,
            isDerived: false,
            allowsExternalStorage: try guessExternalStorage(column, root.table),
            defaultValue: nil,
            valueClass: nil,
            transformer: nil,
            declaredIn: owner,
            isGuessed: true,
            column: column.name
        )
    }

    func guessBytes(_ column: String, _ table: String) throws -> CoreDataAttributeType {
        let name = SourceConnection.quoted(column)
        let from = "FROM \(SourceConnection.quoted(table)) WHERE \(name) NOT NULL"
        guard try connection.int("SELECT 1 \(from) LIMIT 1") != nil else { return .binary }
        if try connection.int("SELECT 1 \(from) AND length(\(name)) <> 16 LIMIT 1") == nil { return .uuid }
        let archived = "hex(substr(\(name), 1, 8)) = '62706C6973743030'"
        return try connection.int("SELECT 1 \(from) AND NOT \(archived) LIMIT 1") == nil ? .transformable : .binary
    }

    /// Whether every value begins with the byte that tells inline from external storage.
    func guessExternalStorage(_ column: StoreTables.Column, _ table: String) throws -> Bool {
        guard column.declaredType == "BLOB" else { return false }
        let name = SourceConnection.quoted(column.name)
        let from = "FROM \(SourceConnection.quoted(table)) WHERE \(name) NOT NULL"
        guard try connection.int("SELECT 1 \(from) LIMIT 1") != nil else { return false }
        let marks = "typeof(\(name)) = 'blob' AND hex(substr(\(name), 1, 1)) = '01'"
        let reference = "hex(substr(\(name), 1, 1)) = '02' AND length(\(name)) IN (37, 38)"
        return try connection.int("SELECT 1 \(from) AND NOT ((\(marks)) OR (\(reference))) LIMIT 1") == nil
    }

    /// Values of 0 and 1 do not prove booleans by themselves; the name must also be a question, such as `ZIS…`.
    func guessNumber(_ column: String, _ table: String) throws -> CoreDataAttributeType {
        let name = SourceConnection.quoted(column)
        let from = "FROM \(SourceConnection.quoted(table)) WHERE \(name) NOT NULL"
        let asks = ["ZIS", "ZHAS", "ZCAN", "ZSHOULD", "ZWAS", "ZALLOWS"].contains { column.hasPrefix($0) }
        guard asks, try connection.int("SELECT 1 \(from) AND \(name) NOT IN (0, 1) LIMIT 1") == nil else {
            return .integer64
        }
        return .boolean
    }
}

extension TableModelBuilder {
    func guessTables(_ model: inout CoreDataModel) {
        for (table, columns) in tables.columns.sorted(by: { $0.key < $1.key }) where table.hasPrefix("Z_") {
            let sides = columns.map(\.name).filter { !$0.hasPrefix("Z_FOK_") }.map { ($0, Self.split($0)) }
            guard sides.count == 2, let left = sides[0].1, let right = sides[1].1,
                let first = model.entity(number: left.number), let second = model.entity(number: right.number)
            else { continue }
            // The column that leads to an entity is named after the relationship that leads there.
            var there = Self.toMany(right.name, second.name, left.name, first.name)
            there.storage = .table(table, here: sides[0].0, there: sides[1].0)
            there.orderColumn = columns.map(\.name).first { $0 == "Z_FOK_\(sides[1].0.dropFirst(2))" }
            add(relationship: there, declaredIn: first.name, &model)
            var back = Self.toMany(left.name, first.name, right.name, second.name)
            back.storage = .table(table, here: sides[1].0, there: sides[0].0)
            back.orderColumn = columns.map(\.name).first { $0 == "Z_FOK_\(sides[0].0.dropFirst(2))" }
            add(relationship: back, declaredIn: second.name, &model)
        }
    }

    /// Splits a column name: `Z_13TAGS` is entity 13 and `tags`.
    static func split(_ column: String) -> (number: Int, name: String)? {
        guard column.hasPrefix("Z_") else { return nil }
        let digits = column.dropFirst(2).prefix { $0.isASCII && $0.isNumber }
        let name = column.dropFirst(2 + digits.count)
        guard let number = Int(digits), !name.isEmpty else { return nil }
        return (number, name.lowercased())
    }

    static func toMany(
        _ name: String,
        _ destination: String,
        _ inverse: String?,
        _ owner: String
    ) -> CoreDataRelationship {
        CoreDataRelationship(
            name: name,
            destination: destination,
            inverse: inverse,
            isToMany: true,
            isOrdered: false,
            isOptional: true,
            deleteRule: "nullify",
            declaredIn: owner,
            isGuessed: true
        )
    }

    func add(_ attribute: CoreDataAttribute, _ model: inout CoreDataModel) {
        let names = Set(model.family(of: attribute.declaredIn).map(\.name))
        for position in model.entities.indices where names.contains(model.entities[position].name) {
            model.entities[position].attributes.append(attribute)
        }
    }

    func add(relationship: CoreDataRelationship, declaredIn owner: String, _ model: inout CoreDataModel) {
        let names = Set(model.family(of: owner).map(\.name))
        for position in model.entities.indices where names.contains(model.entities[position].name) {
            guard model.entities[position].relationship(relationship.name) == nil else { continue }
            model.entities[position].relationships.append(relationship)
        }
    }
}

extension TableModelBuilder {
    /// Guesses a reference from an integer column: it must have its own index, as Core Data creates for each reference, and lead to records
    /// of only one entity, or of the entity it is named after.
    func guessReference(
        _ column: StoreTables.Column,
        _ root: CoreDataEntity,
        _ model: CoreDataModel,
        _ owner: String
    ) throws -> CoreDataRelationship? {
        guard column.declaredType == "INTEGER" else { return nil }
        let partner = tables.columns[root.table, default: []].first { other in
            other.name.hasSuffix("_\(column.name.dropFirst())") && other.name.dropFirst().first?.isNumber == true
        }
        let number = partner.flatMap { Int($0.name.dropFirst().prefix { $0.isNumber }) }
        var destination = number.flatMap { model.entity(number: $0) }
        if destination == nil {
            let index = "\(root.table)_\(column.name)_INDEX"
            guard
                try !connection.texts("SELECT name FROM sqlite_master WHERE type = 'index' AND name = '\(index)'")
                    .isEmpty
            else { return nil }
            destination = try guessDestination(column.name, root, model)
        }
        guard let destination else { return nil }
        var relationship = CoreDataRelationship(
            name: column.name.dropFirst().lowercased(),
            destination: destination.name,
            inverse: nil,
            isToMany: false,
            isOrdered: false,
            isOptional: true,
            deleteRule: "nullify",
            declaredIn: owner,
            isGuessed: true
        )
        relationship.storage = .column(column.name, entityColumn: partner?.name)
        return relationship
    }

    func guessDestination(
        _ column: String,
        _ root: CoreDataEntity,
        _ model: CoreDataModel
    ) throws -> CoreDataEntity? {
        let word = column.dropFirst()
        let roots = model.entities.filter { $0.superentity == nil }
        if let same = model.entities.first(where: { $0.name.uppercased() == word }) { return same }
        let named = model.entities.filter { $0.name.uppercased().hasSuffix(word) }
        if named.count == 1 { return named[0] }
        let name = SourceConnection.quoted(column)
        let table = SourceConnection.quoted(root.table)
        guard try connection.int("SELECT 1 FROM \(table) WHERE \(name) NOT NULL LIMIT 1") != nil else { return nil }
        let fitting = try roots.filter { candidate in
            let keys = "SELECT Z_PK FROM \(SourceConnection.quoted(candidate.table))"
            return try connection.int(
                "SELECT 1 FROM \(table) WHERE \(name) NOT NULL AND \(name) NOT IN (\(keys)) LIMIT 1"
            ) == nil
        }
        return fitting.count == 1 ? fitting[0] : nil
    }

    /// Guesses a to-many relationship without an inverse, whose targets store their owner in a column.
    func guessOwner(_ column: String, _ number: Int?, _ root: CoreDataEntity, _ model: inout CoreDataModel) {
        guard let number, let owner = model.entity(number: number) else { return }
        let digits = String(number)
        let name = column.dropFirst(1 + digits.count).lowercased()
        var relationship = Self.toMany(name, root.name, nil, owner.name)
        relationship.storage = .otherSide(column: column)
        let order = "Z_FOK_\(column.dropFirst())"
        if tables.has(order, in: root.table) { relationship.orderColumn = order }
        add(relationship: relationship, declaredIn: owner.name, &model)
    }
}
