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
                oddities.append(CoreDataOddity("tableMissing", "\(numbered.name) has no table", entity: numbered.name))
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
            oddities.append(
                CoreDataOddity(
                    "modelGuessed",
                    "the file keeps no model: names, types and relationships are guessed from its tables"
                )
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
