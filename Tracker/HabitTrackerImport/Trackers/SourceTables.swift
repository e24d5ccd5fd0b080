import Foundation
import HabitStore
import HabitStoreImport
import JSONText

/// The lists of records in a file without a dedicated reader: the tables of a database, the rows of CSV files, or the arrays of a JSON
/// file.
struct SourceTables {
    /// A row, by its position in a list.
    struct Place: Hashable {
        let list: String
        let row: Int
    }

    /// A row and, in JSON, the rows of other lists it is nested in, outermost first.
    struct Row {
        let fields: [String: JSON]
        var ancestors: [Place] = []
    }

    /// A named list of rows.
    struct Table {
        /// The name of the table, of the file without its extension, or of the members that lead to the list: `habits.checkins`.
        let name: String
        /// The columns, in order.
        let columns: [String]
        let rows: [Row]
        /// The tables that its columns lead to by declared foreign keys.
        var references: [String: String] = [:]
        /// The virtual table that it is, or whose contents it has, such as those of a search index.
        var virtual: String?
    }

    let path: String
    private(set) var tables: [Table] = []
    /// The parts of a JSON file outside the lists, by the members that lead to them.
    private(set) var others: [String: JSON] = [:]
    private(set) var oddities: [CoreDataOddity] = []
    /// The number of CSV files that end in the middle of a row.
    private(set) var cutFiles = 0

    private static let maximumDepth = 8

    /// Reads a database, a CSV file, a folder of CSV files, or a JSON file.
    ///
    /// - Throws: ``HabitStoreError/Code/unknownFormat`` for anything else, ``HabitStoreError/Code/invalidSource`` for damaged files.
    init(path: String) throws {
        self.path = path
        var status = stat()
        guard stat(path, &status) == 0 else { throw HabitStoreError.system(errno, "the file cannot be reached", path) }
        if status.st_mode & S_IFMT == S_IFDIR {
            let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
            for name in names where name.lowercased().hasSuffix(".csv") { try readCSV(path + "/" + name) }
            guard !tables.isEmpty else {
                throw HabitStoreError(.unknownFormat, "there is no CSV file in this folder", at: .init(path: path))
            }
            return
        }
        // Databases may be larger than memory; other files are read whole.
        if status.st_mode & S_IFMT == S_IFREG, DatabaseHeader.isDatabase(path) {
            try readDatabase()
            return
        }
        let bytes = try WholeFile.read(path).bytes
        let first = bytes.first { $0 > 0x20 && $0 < 0x80 }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            try readJSON(bytes)
            return
        }
        try readCSV(path)
    }

    private mutating func readDatabase() throws {
        let database = try SourceDatabase(path: path)
        oddities = database.oddities
        let virtual = try database.connection.texts(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%' ORDER BY length(name) DESC"
        )
        for name in database.tableNames where !name.hasPrefix("sqlite_") {
            let statement = try database.connection.prepare("SELECT * FROM \(SourceConnection.quoted(name))")
            let columns = (0..<statement.columnCount).map { statement.columnName($0) }
            var rows: [Row] = []
            while try statement.step() {
                var fields: [String: JSON] = [:]
                for (place, column) in columns.enumerated() { fields[column] = JSON(statement.value(place)) }
                rows.append(Row(fields: fields))
            }
            var table = Table(name: name, columns: columns, rows: rows)
            let keys = try database.connection.prepare("PRAGMA foreign_key_list(\(SourceConnection.quoted(name)))")
            while try keys.step() { table.references[keys.text(3) ?? ""] = keys.text(2) }
            table.virtual = virtual.first { Self.has($0, name) }
            tables.append(table)
        }
    }

    /// Whether a table is a virtual one, or one that the modules FTS, R-tree and their like keep its contents in.
    private static func has(_ virtual: String, _ table: String) -> Bool {
        let (virtual, table) = (virtual.lowercased(), table.lowercased())
        guard table.hasPrefix(virtual + "_") else { return table == virtual }
        return shadows.contains(String(table.dropFirst(virtual.count + 1)))
    }

    private static let shadows: Set<String> = [
        "data", "idx", "content", "docsize", "config", "segments", "segdir", "stat", "node", "parent", "rowid",
        "chunks",
        "rowids", "info", "auxiliary",
    ]

    private mutating func readCSV(_ file: String) throws {
        var reader = try CSVReader(path: file)
        let header = (try reader.next() ?? []).map(\.text)
        guard Set(header).count == header.count, header.contains(where: { !$0.isEmpty }) else {
            throw HabitStoreError(
                .invalidSource,
                "the first row of the CSV has to name the columns, each once",
                at: .init(path: file)
            )
        }
        if let place = header.firstIndex(where: Self.isValue) {
            throw HabitStoreError(
                .invalidSource,
                "the first row of the CSV has to name the columns, and column \(place + 1) has a day or a number there: "
                    + "put a row of names before it",
                at: .init(path: file)
            )
        }
        var rows: [Row] = []
        var end = CSVEnd(header.count)
        while let row = try reader.next() {
            end.note(row.count, reader)
            if row == [CSVReader.Field(text: "")] { continue }
            guard row.count <= header.count else {
                throw HabitStoreError(
                    .invalidSource,
                    "line \(reader.line) has \(row.count) fields, and there are \(header.count) columns",
                    at: .init(path: file)
                )
            }
            var fields: [String: JSON] = [:]
            for (name, field) in zip(header, row) where !field.text.isEmpty { fields[name] = .string(field.text) }
            rows.append(Row(fields: fields))
        }
        if end.isCut { cutFiles += 1 }
        let name = URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent
        tables.append(Table(name: name, columns: header, rows: rows))
    }

    /// Whether a cell is a day, a time or a number, and therefore not a column's name.
    private static func isValue(_ cell: String) -> Bool {
        if TableValue.isDecimal(cell) { return true }
        return cell.utf8.contains { $0 >= 0x30 && $0 <= 0x39 } && cell.contains { "/.-:".contains($0) }
            && cell.allSatisfy { "0123456789/.-:+ TZ".contains($0) }
    }

    // MARK: JSON

    private mutating func readJSON(_ bytes: [UInt8]) throws {
        let json = try JSON(source: bytes, [.repeatedMember, .roundedInteger], path: path)
        var found: [(name: String, rows: [Row])] = []
        if let elements = json.elements {
            Self.add(elements, "items", [], &found, 0)
        } else {
            others = Self.walk(json, "", [], &found, 0)
        }
        tables = found.map { item in
            let columns = Set(item.rows.flatMap(\.fields.keys)).sorted()
            return Table(name: item.name, columns: columns, rows: item.rows)
        }
    }

    /// Extracts the lists from an object.
    ///
    /// - Returns: the other members of the object.
    private static func walk(
        _ json: JSON,
        _ name: String,
        _ ancestors: [Place],
        _ found: inout [(name: String, rows: [Row])],
        _ depth: Int
    ) -> [String: JSON] {
        var rest: [String: JSON] = [:]
        for (member, value) in (json.members ?? [:]).sorted(by: { $0.key < $1.key }) {
            let path = name.isEmpty ? member : "\(name).\(member)"
            if depth < maximumDepth, let elements = value.elements,
                elements.contains(where: { $0.members != nil }) || isDays(elements)
            {
                add(elements, path, ancestors, &found, depth + 1)
            } else if depth < maximumDepth, let members = value.members, isDays(members.keys) {
                let rows = members.sorted { $0.key < $1.key }.map {
                    Row(fields: ["key": .string($0.key), "value": $0.value], ancestors: ancestors)
                }
                append(rows, path, &found)
            } else if name.isEmpty, depth < maximumDepth, value.members != nil {
                for (inner, left) in walk(value, path, [], &found, depth + 1) { rest["\(member).\(inner)"] = left }
            } else {
                rest[member] = value
            }
        }
        return rest
    }

    private static func add(
        _ elements: [JSON],
        _ name: String,
        _ ancestors: [Place],
        _ found: inout [(name: String, rows: [Row])],
        _ depth: Int
    ) {
        for element in elements {
            guard element.members != nil else {
                append([Row(fields: ["value": element], ancestors: ancestors)], name, &found)
                continue
            }
            let place = found.first { $0.name == name }?.rows.count ?? 0
            append([Row(fields: [:], ancestors: ancestors)], name, &found)
            let fields = walk(element, name, ancestors + [Place(list: name, row: place)], &found, depth)
            if let table = found.firstIndex(where: { $0.name == name }) {
                found[table].rows[place] = Row(fields: fields, ancestors: ancestors)
            }
        }
    }

    private static func append(_ rows: [Row], _ name: String, _ found: inout [(name: String, rows: [Row])]) {
        if let table = found.firstIndex(where: { $0.name == name }) {
            found[table].rows += rows
        } else {
            found.append((name, rows))
        }
    }

    private static func isDays(_ elements: [JSON]) -> Bool {
        !elements.isEmpty && elements.allSatisfy { $0.text.map { isDay($0) } ?? false }
    }

    private static func isDays(_ keys: some Collection<String>) -> Bool { !keys.isEmpty && keys.allSatisfy(isDay) }

    private static func isDay(_ text: String) -> Bool { SourceMoment.day(iso: text.prefix(10)) != nil }
}
