import HabitStore
import JSONText

/// The parts of a file that no field of a plan reads: columns and rows outside the model, links that the mapping has no place for, and
/// unknown tables.
///
/// It enumerates the actual columns and tables, so that parts unknown to the model are found too.
struct UnmappedData {
    let file: CoreDataFile
    let plan: CoreDataPlan
    /// Receives everything to keep next to the target: its kind of loss and its line for the attachment.
    let keep: (ImportLoss, any Encodable) throws -> Void

    func keepAll() throws {
        for entity in file.model.entities { try keepColumns(of: entity) }
        for table in entityTables.sorted() { try keepRowsOfNoEntity(table) }
        for (table, relationships) in linkTables.sorted(by: { $0.key < $1.key }) { try keepLinks(table, relationships) }
    }

    // MARK: Columns

    private func keepColumns(of entity: CoreDataEntity) throws {
        let claimed = claimedColumns(of: entity)
        let columns = file.tables.columns[entity.table, default: []].map(\.name).filter { !claimed.contains($0) }
        guard !columns.isEmpty else { return }
        let names = columns.map(SourceConnection.quoted)
        let rows = try file.connection.prepare(
            "SELECT Z_PK, \(names.joined(separator: ", ")) FROM \(SourceConnection.quoted(entity.table)) "
                + "WHERE Z_ENT = \(entity.number) AND \(SourceConnection.isAnyFilled(names))"
                + (file.tables.hasKey(in: entity.table).map { " AND \($0)" } ?? "")
        )
        let known = knownColumns(of: entity)
        while try rows.step() {
            for (place, column) in columns.enumerated() {
                let value = rows.value(place + 1)
                guard !value.isNull else { continue }
                let isKnown = known.contains(column)
                let loss = ImportLoss(
                    entity: entity.name,
                    key: rows.optionalInt(0) ?? 0,
                    id: nil,
                    property: nil,
                    table: entity.table,
                    column: column,
                    reason: isKnown ? "no place for \(column)" : "\(column) belongs to nothing in the model",
                    value: JSON(stored: value),
                    kind: isKnown ? .noPlace : .unknownToModel
                )
                try keep(loss, loss)
            }
        }
    }

    /// The columns that the import reads from an entity's rows, or keeps in the attachment under their property's name.
    private func claimedColumns(of entity: CoreDataEntity) -> Set<String> {
        var result: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
        result.formUnion(entity.attributes.compactMap(\.column))
        for relationship in entity.relationships {
            guard case .column(let column, let second) = relationship.storage else { continue }
            result.insert(column)
            // The target's entity follows from the target itself.
            if let second { result.insert(second) }
        }
        for field in plan.entity(number: entity.number)?.fields ?? [] {
            switch field {
            case .owner(let column, _), .number(let column): result.insert(column)
            default: break
            }
        }
        return result
    }

    /// The columns of an entity's table that belong to other entities' relationships.
    private func knownColumns(of entity: CoreDataEntity) -> Set<String> {
        var result: Set<String> = []
        for relationship in file.model.entities.flatMap(\.relationships) {
            guard case .otherSide(let column) = relationship.storage,
                file.model.entity(relationship.destination)?.table == entity.table
            else { continue }
            result.insert(column)
            if let order = relationship.orderColumn { result.insert(order) }
        }
        return result
    }

    // MARK: Rows

    private var entityTables: Set<String> { Set(file.model.entities.map(\.table)) }

    private func keepRowsOfNoEntity(_ table: String) throws {
        let numbers = file.model.entities.filter { $0.table == table }.map { String($0.number) }.joined(separator: ", ")
        try keepRows(
            of: table,
            where: "Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers))",
            "of no entity of the model",
            .unknownToModel
        )
        guard let hasKey = file.tables.hasKey(in: table) else { return }
        try keepRows(
            of: table,
            where: "Z_ENT IN (\(numbers)) AND NOT \(hasKey)",
            "without a key of its own",
            .keyUnusable
        )
    }

    private func keepRows(
        of table: String,
        where condition: String = "1",
        _ reason: String,
        _ kind: ImportLoss.Kind,
        property: String? = nil
    ) throws {
        let rows = try file.connection.prepare(
            "SELECT * FROM \(SourceConnection.quoted(table)) WHERE \(condition)"
        )
        while try rows.step() {
            let row = UnmappedRow(table, rows, reason)
            let loss = ImportLoss(
                entity: table,
                key: row.key ?? 0,
                id: nil,
                property: property,
                reason: reason,
                value: JSON(stored: SourceValue.null),
                kind: kind
            )
            try keep(loss, row)
        }
    }

    // MARK: Links

    /// The relationships with their own link table, by table.
    private var linkTables: [String: [(entity: CoreDataEntity, relationship: CoreDataRelationship)]] {
        var result: [String: [(entity: CoreDataEntity, relationship: CoreDataRelationship)]] = [:]
        for entity in file.model.entities {
            for relationship in entity.relationships {
                guard case .table(let table, _, _) = relationship.storage else { continue }
                result[table, default: []].append((entity, relationship))
            }
        }
        return result
    }

    private func keepLinks(
        _ table: String,
        _ relationships: [(entity: CoreDataEntity, relationship: CoreDataRelationship)]
    ) throws {
        let name = relationships.first.map { "\($0.relationship.declaredIn).\($0.relationship.name)" }
        func keep(_ condition: String, _ reason: String, _ kind: ImportLoss.Kind) throws {
            try keepRows(of: table, where: condition, reason, kind, property: name)
        }
        var owners: [(column: String, other: String, table: String, number: Int)] = []
        var read: Set<String> = []
        for (entity, relationship) in relationships {
            guard case .table(_, let here, let there) = relationship.storage else { continue }
            let fields = plan.entity(number: entity.number)?.fields ?? []
            if fields.contains(.links(relationship.name)) {
                owners.append((here, there, entity.table, entity.number))
                read.formUnion([here, there])
            }
            if fields.contains(.linkOrder(relationship.name)), let order = relationship.orderColumn {
                read.insert(order)
            }
        }
        guard let first = owners.first else {
            return try keep("1", "no place for the links of \(name ?? table)", .noPlace)
        }
        let misplaced = read.sorted().map { "typeof(\(SourceConnection.quoted($0))) NOT IN ('integer', 'null')" }
        let isMisplaced = "(\(misplaced.joined(separator: " OR ")))"
        try keep(isMisplaced, "a link with what is no whole number where a key or a place should be", .otherType)
        let further = file.tables.columns[table, default: []].map(\.name).filter { !read.contains($0) }
        let isFilled = SourceConnection.isAnyFilled(further.map(SourceConnection.quoted))
        if !further.isEmpty {
            let reason = "no place for \(further.joined(separator: ", ")) of the links"
            try keep("\(isFilled) AND NOT \(isMisplaced)", reason, .noPlace)
        }
        let lost =
            "(\(unread(first.column, first.other, owners))) AND NOT \(isMisplaced)"
            + (further.isEmpty ? "" : " AND NOT \(isFilled)")
        try keep(lost, "a link whose record is not there", .unknownToModel)
        guard file.tables.uniqueColumns[table]?.contains([first.column, first.other]) != true else { return }
        let pair = "\(SourceConnection.quoted(first.column)), \(SourceConnection.quoted(first.other))"
        let twice = "rowid NOT IN (SELECT min(rowid) FROM \(SourceConnection.quoted(table)) GROUP BY \(pair))"
        try keep(twice, "a link that is there twice", .unknownToModel)
    }

    /// An SQL condition for links that belong to no imported record or lead nowhere.
    private func unread(
        _ here: String,
        _ there: String,
        _ owners: [(column: String, other: String, table: String, number: Int)]
    ) -> String {
        func isMissing(_ column: String) -> String {
            let numbers = owners.map { String($0.number) }.joined(separator: ", ")
            let tables = Set(owners.map(\.table)).sorted().map {
                "SELECT Z_PK FROM \(SourceConnection.quoted($0)) WHERE Z_ENT IN (\(numbers))"
            }
            return "\(SourceConnection.quoted(column)) NOT IN (\(tables.joined(separator: " UNION ")))"
        }
        let (left, right) = (SourceConnection.quoted(here), SourceConnection.quoted(there))
        let nowhere = here == "REFLEXIVE" ? "(\(isMissing(here)) AND \(isMissing(there)))" : isMissing(here)
        return "\(left) IS NULL OR \(right) IS NULL OR \(nowhere)"
    }

    // MARK: Parts not kept

    /// The parts that are neither imported nor kept.
    func notCarried() throws -> [NotCarried] {
        var result: [NotCarried] = []
        let known = entityTables.union(linkTables.keys).union(["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"])
        let history: Set<String> = file.history == nil ? [] : ["ATRANSACTION", "ACHANGE", "ATRANSACTIONSTRING"]
        for table in file.tables.columns.keys.sorted() {
            guard !known.contains(table), !history.contains(table), !table.hasPrefix("sqlite_") else { continue }
            let rows = try count("SELECT count(*) FROM \(SourceConnection.quoted(table))")
            guard rows > 0 else { continue }
            let reason =
                table.hasPrefix("ANSCK")
                ? "what CloudKit noted for itself of its mirroring" : "a table that belongs to nothing in the model"
            result.append(NotCarried(table: table, column: nil, count: rows, reason: reason, isUnknown: true))
        }
        if !file.metadata.appKeys.isEmpty {
            result.append(
                NotCarried(
                    table: "Z_METADATA",
                    column: "Z_PLIST",
                    count: file.metadata.appKeys.count,
                    reason:
                        "what the app noted in the file's metadata: \(file.metadata.appKeys.joined(separator: ", "))",
                    isUnknown: false
                )
            )
        }
        for (table, own) in Self.bookkeeping.sorted(by: { $0.key < $1.key }) {
            result += try notCarried(of: table, except: own) { _ in
                ("a column that Core Data does not have in its own tables", "1")
            }
        }
        return try history.isEmpty ? result : result + notCarriedHistory()
    }

    /// The columns of Core Data's own tables.
    private static let bookkeeping: [String: Set<String>] = [
        "Z_PRIMARYKEY": ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"], "Z_METADATA": ["Z_VERSION", "Z_UUID", "Z_PLIST"],
        "Z_MODELCACHE": ["Z_CONTENT"],
    ]

    /// The columns of a table with values that are not carried.
    ///
    /// - Parameter why: why a column is not carried, and the SQL condition for its rows.
    private func notCarried(
        of table: String,
        except carried: Set<String>,
        _ why: (String) -> (reason: String, condition: String)
    ) throws -> [NotCarried] {
        try file.tables.columns[table, default: []].map(\.name).compactMap { column in
            guard !carried.contains(column) else { return nil }
            let (name, (reason, condition)) = (SourceConnection.quoted(column), why(column))
            let values = try count("SELECT count(\(name)) FROM \(SourceConnection.quoted(table)) WHERE \(condition)")
            guard values > 0 else { return nil }
            return NotCarried(table: table, column: column, count: values, reason: reason, isUnknown: false)
        }
    }

    /// Core Data's own columns in each table with entities.
    private static let own: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]

    private func notCarriedHistory() throws -> [NotCarried] {
        let changes = Self.own.union(["ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"])
        var transactions = Self.own.union(["ZTIMESTAMP", "ZAUTHOR", "ZAUTHORTS"])
        // A mapped import keeps these in the attachment, since a store's own history has no place for them.
        if plan.source == nil {
            for name in ["ZCONTEXTNAME", "ZPROCESSID", "ZBUNDLEID"] { transactions.formUnion([name, name + "TS"]) }
        }
        let result = try notCarried(of: "ACHANGE", except: changes) { column in
            // Changes of unknown kinds are not imported at all.
            column.isNumbered("ZTOMBSTONE")
                ? (
                    "what the history notes as kept of a deleted record, of changes that delete none",
                    "ZCHANGETYPE IN (0, 1)"
                )
                : ("what the history notes of a change beside its kind and its record", "1")
        }
        return try result
            + notCarried(of: "ATRANSACTION", except: transactions) { _ in
                ("what the history notes of a transaction beside its time and its author", "1")
            } + notCarriedNames() + notCarriedChanges()
    }

    private func notCarriedNames() throws -> [NotCarried] {
        let leading = file.tables.columns["ATRANSACTION", default: []].map(\.name).filter { $0.hasSuffix("TS") }.map {
            "SELECT \(SourceConnection.quoted($0)) FROM ATRANSACTION WHERE \(SourceConnection.quoted($0)) NOT NULL"
        }
        let isUnused = leading.isEmpty ? "1" : "Z_PK IS NULL OR Z_PK NOT IN (\(leading.joined(separator: " UNION ")))"
        return try notCarried(of: "ATRANSACTIONSTRING", except: Self.own) { column in
            column == "ZNAME"
                ? ("names that no transaction of the history has", isUnused)
                : ("what the history notes of a name beside the name", "1")
        }
    }

    private func notCarriedChanges() throws -> [NotCarried] {
        let numbers = plan.entities.map { String($0.source.number) }.joined(separator: ", ")
        let elsewhere = plan.source == nil ? "0" : "ZENTITY NOT IN (\(numbers)) OR ZENTITY IS NULL"
        let changes = try count(
            "SELECT count(*) FROM ACHANGE WHERE \(elsewhere) OR ZENTITYPK IS NULL OR ZENTITY IS NULL OR ZCHANGETYPE IS NULL OR "
                + "ZCHANGETYPE NOT IN (0, 1, 2) OR ZTRANSACTIONID IS NULL OR "
                + "ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION)"
        )
        guard changes > 0 else { return [] }
        let reason = "changes of no transaction, of no kind that is known, or of what is not in the file"
        return [NotCarried(table: "ACHANGE", column: "ZENTITYPK", count: changes, reason: reason, isUnknown: false)]
    }

    private func count(_ sql: String) throws -> Int { Int(try file.connection.int(sql) ?? 0) }
}

/// A source row without a counterpart in the target: a link, or a row that belongs to no entity.
struct UnmappedRow: Encodable {
    let table: String
    /// The key, if the table has one.
    var key: Int64?
    let reason: String
    /// The values by column, without nulls.
    let columns: [String: JSON]

    /// The links that lead from a record to others, from all tables.
    static func links(of key: Int64, _ entity: CoreDataEntity, _ file: CoreDataFile) throws -> [UnmappedRow] {
        var result: [UnmappedRow] = []
        for relationship in entity.relationships {
            guard case .table(let table, let here, let there) = relationship.storage else { continue }
            let (name, left) = (SourceConnection.quoted(table), SourceConnection.quoted(here))
            let right = here == "REFLEXIVE" ? " OR \(SourceConnection.quoted(there)) = ?1" : ""
            let rows = try file.connection.prepare("SELECT * FROM \(name) WHERE \(left) = ?1\(right)", .int(key))
            while try rows.step() {
                result.append(UnmappedRow(table, rows, "a link of a record that was not brought over"))
            }
        }
        return result
    }

    /// The current row of a statement.
    init(_ table: String, _ statement: SourceStatement, _ reason: String) {
        self.table = table
        self.reason = reason
        var columns: [String: JSON] = [:]
        for place in 0..<statement.columnCount {
            let value = statement.value(place)
            let name = statement.columnName(place)
            if name == "Z_PK", case .int(let number) = value { key = number }
            if !value.isNull { columns[name] = JSON(stored: value) }
        }
        self.columns = columns
    }

    init(_ table: String, _ columns: [String: Int64], _ reason: String) {
        self.table = table
        self.reason = reason
        self.columns = columns.mapValues { JSON(stored: SourceValue.int($0)) }
    }
}
