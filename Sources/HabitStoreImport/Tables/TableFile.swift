import Foundation
import HabitStore

/// Another program's SQLite file: its tables, as they declare themselves. The file is read from a private copy.
public final class TableFile {
    /// A column.
    package struct Column: Sendable {
        package let name: String
        package let declaredType: String
        package let isNotNull: Bool
        /// Its place in the primary key, from 1; 0 if it is not part of it.
        package let keyPlace: Int
        /// Whether its value is computed from the others.
        package let isGenerated: Bool
        /// The expression of its default value.
        let defaultValue: String?
        /// The name of the collation by which it is compared.
        let collation: String

        /// What SQLite makes of values that are stored in the column.
        package let affinity: Affinity
    }

    package enum Affinity: String, Sendable {
        case integer, text, none, real, numeric

        /// The affinity of a declared type (https://www.sqlite.org/datatype3.html, 3.1).
        init(of declaredType: String, isStrict: Bool) {
            let type = declaredType.uppercased()
            // A strict table's ANY converts no value.
            if isStrict, type == "ANY" {
                self = .none
            } else if type.contains("INT") {
                self = .integer
            } else if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
                self = .text
            } else if type.isEmpty || type.contains("BLOB") {
                self = .none
            } else {
                self = ["REAL", "FLOA", "DOUB"].contains(where: type.contains) ? .real : .numeric
            }
        }
    }

    package struct ForeignKey: Sendable {
        package let columns: [String]
        package let table: String
        /// Empty if it leads to the primary key.
        package let destinations: [String]
    }

    package struct Table: Sendable {
        package let name: String
        package let columns: [Column]
        package let foreignKeys: [ForeignKey]
        /// The columns of each unique index over all rows, and of the primary key.
        package let uniqueKeys: [[String]]
        /// Whether a deleted row's key is never given out again.
        package let keepsKeys: Bool
        /// Whether its primary key's index is the table.
        let isWithoutRowid: Bool
        let isStrict: Bool
        /// The column whose values are the rows' numbers (https://www.sqlite.org/lang_createtable.html#rowid); nil if there is none.
        let rowidKey: String?

        /// The columns of the declared primary key.
        package var primaryKey: [String] {
            columns.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace }.map(\.name)
        }

        /// The column of a name, in any case, as in SQL.
        package func column(_ name: String) -> Column? { columns.first { $0.name.sqlName == name.sqlName } }
    }

    /// A view or table that is not read.
    struct LeftAlone: Hashable {
        let name: String
        let reason: String
    }

    /// The path of the original.
    public let path: String
    let connection: SourceConnection
    /// The tables, by name.
    package let tables: [Table]
    let leftAlone: [LeftAlone]
    /// Whether a store's tables are next to those of the app.
    var isAdopted: Bool { get throws { try connection.catalog().tables.contains(Self.metadataTable) } }
    let oddities: [CoreDataOddity]
    /// Owns the copy.
    private let opening: SourceOpening?

    /// Copies the file with its log, and reads what tables it has.
    ///
    /// - Throws: ``HabitStoreError/Code/notAStore`` if it is not a SQLite file, ``HabitStoreError/Code/corrupt`` if it is damaged,
    ///   ``HabitStoreError/Code/unsupported`` for a Core Data file or a store.
    public convenience init(path: String) throws { try self.init(path: path, scope: .ofAnApp) }

    /// Copies the file for a comparison with any other.
    convenience init(comparing path: String) throws { try self.init(path: path, scope: .all) }

    private init(path: String, scope: Scope) throws {
        var opening = try SourceOpening(path)
        let connection = try opening.open()
        opening.hide()
        (self.path, self.connection, self.opening) = (path, connection, opening)
        oddities = opening.oddities
        (tables, leftAlone) = try Self.contents(connection, path, scope)
    }

    /// The state of the original's files when they were copied; nil if the file was not copied.
    var stamps: SourceStamps? { opening?.snapshot.stamps }

    /// Oddities that may mean that the file has, or had, more than can be read.
    var losses: [CoreDataOddity] {
        oddities.filter { CoreDataImportReport.Shortfall.fileKinds.contains($0.kind) && $0.kind != "tableUnreadable" }
    }

    /// A path for a file that is removed with the copy.
    ///
    /// - Precondition: the file was opened as a copy.
    public func scratchPath(_ name: String) -> String {
        guard let opening else { preconditionFailure("\(path) was not copied") }
        return opening.snapshot.scratchPath(name)
    }

    /// Which tables of a file are read.
    private enum Scope {
        /// Those of an app; a store's or Core Data's file is refused.
        case ofAnApp
        /// Those of an app, next to those of the store that its file is.
        case adopted
        /// All tables, the contents of full-text tables included; but not a store's next to those of an app.
        case all
    }

    /// Reads what tables a file has, in place: opening and closing an open file by other means than SQLite's would end the locks of
    /// this process (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
    ///
    /// - Parameter isAdopted: whether to pass over the tables that belong to the store, instead of refusing the file.
    /// - Throws: the errors of ``init(path:)``.
    package init(inPlace path: String, isAdopted: Bool) throws {
        let connection = try SourceConnection(copy: path, of: path, largestValueBytes: Self.largestValueBytes)
        (self.path, self.connection, opening, oddities) = (path, connection, nil, [])
        // Other programs write, and a rollback journal has readers wait for them.
        try connection.exec("PRAGMA busy_timeout = 5000")
        connection.standInForCollations()
        (tables, leftAlone) = try Self.contents(connection, path, isAdopted ? .adopted : .ofAnApp)
    }

    /// The number that grows with each change of the file's schema.
    package var schemaVersion: Int64? { get throws { try connection.int("PRAGMA schema_version") } }

    private static let largestValueBytes = 1 << 30

    /// Before the names of a store's tables next to those of the app.
    package static let storePrefix = "habitstore_"
    private static let metadataTable = "habitstore_metadata"

    /// The key in the store's metadata that is there while another store has the records of an adopted file.
    package static let fenceKey = "mapped.fence"

    /// Whether an adopted file says that another store has its records. One that cannot be read within `busySeconds` does not.
    static func isFenced(_ path: String, busySeconds: Double) -> Bool {
        // Not by reading its first bytes: closing a file by other means than SQLite's ends this process's locks.
        guard let connection = try? SourceConnection(copy: path, of: path, largestValueBytes: largestValueBytes) else {
            return false
        }
        defer { connection.close() }
        func holds(_ sql: String) -> Bool { (try? connection.int(sql)) == 1 }
        guard (try? connection.exec("PRAGMA busy_timeout = \(Int(busySeconds * 1_000))")) != nil,
            holds("SELECT 1 FROM sqlite_master WHERE name = '\(metadataTable)'")
        else { return false }
        return holds("SELECT 1 FROM \(metadataTable) WHERE key = '\(fenceKey)'")
    }

    private static func contents(
        _ connection: SourceConnection,
        _ path: String,
        _ scope: Scope
    ) throws -> ([Table], [LeftAlone]) {
        let catalog = try connection.catalog()
        let unreadable = Set(catalog.unreadable.map(\.name))
        if catalog.tables.contains(metadataTable), scope == .ofAnApp {
            throw HabitStoreError(.unsupported, "this is a store already", at: .init(path: path))
        }
        if catalog.tables.contains("Z_METADATA"), scope != .all {
            throw HabitStoreError(
                .unsupported,
                "this is a Core Data file, which has a model: import it as one",
                at: .init(path: path)
            )
        }
        let virtual = try connection.texts(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
        )
        let modules = try modules(connection)
        var leftAlone = catalog.unreadable.map { LeftAlone(name: $0.name, reason: $0.description) }
        leftAlone += virtual.filter { !unreadable.contains($0) }.map {
            LeftAlone(name: $0, reason: "a virtual table, whose module keeps it")
        }
        leftAlone += try connection.texts("SELECT name FROM sqlite_master WHERE type = 'view'").map {
            LeftAlone(name: $0, reason: "a view, which stores no rows")
        }
        let isAdopted = catalog.tables.contains(metadataTable)
        // Exact, but only where the module is known.
        let shadows = Set(try connection.texts("SELECT name FROM pragma_table_list WHERE type = 'shadow'"))
        var tables: [Table] = []
        for name in catalog.tables where !name.hasPrefix("sqlite_") && !virtual.contains(name) {
            if isAdopted, name.hasPrefix(storePrefix) { continue }
            if scope == .all, !shadows.contains(name) || name.lowercased().hasSuffix("_content") {
                tables.append(try table(name, connection))
            } else if let owner = virtual.first(where: { isShadow(name, of: $0, modules[$0] ?? "") }) {
                leftAlone.append(LeftAlone(name: name, reason: "part of the virtual table \(owner)"))
            } else {
                tables.append(try table(name, connection))
            }
        }
        if isAdopted, scope == .all {
            leftAlone.append(LeftAlone(name: "\(storePrefix)…", reason: "tables of the store next to the app's"))
        }
        return (tables, leftAlone.sorted { $0.name < $1.name })
    }

    /// The table of a name, in any case.
    func table(_ name: String) -> Table? { tables.first { $0.name.sqlName == name.sqlName } }

    /// The tables that FTS3 to FTS5 and R*Trees keep for a virtual table (https://www.sqlite.org/vtab.html#shadow_tables).
    private static func isShadow(_ name: String, of owner: String, _ module: String) -> Bool {
        let kept = [
            "fts3": ["content", "docsize", "segdir", "segments", "stat"],
            "fts5": ["config", "content", "data", "docsize", "idx"], "rtree": ["node", "parent", "rowid"],
        ]
        let own = ["fts4": kept["fts3"], "rtree_i32": kept["rtree"], "geopoly": kept["rtree"]][module] ?? kept[module]
        let suffixes = own ?? kept.values.flatMap(\.self) + ["instance"]
        return suffixes.contains { name.lowercased() == "\(owner.lowercased())_\($0)" }
    }

    /// The modules of the virtual tables, in small letters: `CREATE VIRTUAL TABLE name USING module(…)`.
    private static func modules(_ connection: SourceConnection) throws -> [String: String] {
        let rows = try connection.prepare(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
        )
        var modules: [String: String] = [:]
        while try rows.step() {
            guard let name = rows.text(0), let words = rows.text(1)?.lowercased().components(separatedBy: " using "),
                let module = words.dropFirst().last
            else { continue }
            modules[name] = String(module.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
        }
        return modules
    }

    private static func table(_ name: String, _ connection: SourceConnection) throws -> Table {
        let quoted = SourceConnection.quoted(name)
        var columns: [Column] = []
        let list = try connection.prepare("PRAGMA main.table_list(\(quoted))")
        let isListed = try list.step()
        let isStrict = isListed && list.optionalInt(5) == 1
        let rows = try connection.prepare("PRAGMA table_xinfo(\(quoted))")
        while try rows.step() {
            let type = rows.text(2) ?? ""
            columns.append(
                Column(
                    name: rows.text(1) ?? "",
                    declaredType: type,
                    isNotNull: rows.optionalInt(3) == 1,
                    keyPlace: Int(rows.optionalInt(5) ?? 0),
                    isGenerated: (rows.optionalInt(6) ?? 0) > 1,
                    defaultValue: rows.text(4),
                    collation: connection.collation(of: rows.text(1) ?? "", in: name),
                    affinity: Affinity(of: type, isStrict: isStrict)
                )
            )
        }
        var keys: [(id: Int64, table: String, columns: [String], destinations: [String])] = []
        let references = try connection.prepare("PRAGMA foreign_key_list(\(quoted))")
        while try references.step() {
            let id = references.optionalInt(0) ?? 0
            if keys.last?.id != id { keys.append((id, references.text(2) ?? "", [], [])) }
            keys[keys.count - 1].columns.append(references.text(3) ?? "")
            if let destination = references.text(4) { keys[keys.count - 1].destinations.append(destination) }
        }
        var uniqueKeys: [[String]] = []
        var hasKeyIndex = false
        let indexes = try connection.prepare("PRAGMA index_list(\(quoted))")
        while try indexes.step() {
            if indexes.text(3) == "pk" { hasKeyIndex = true }
            guard indexes.optionalInt(2) == 1, indexes.optionalInt(4) == 0 else { continue }
            let parts = try connection.prepare("PRAGMA index_info(\(SourceConnection.quoted(indexes.text(1) ?? "")))")
            var names: [String?] = []
            while try parts.step() { names.append(parts.text(2)) }
            // An index over an expression has a part without a name.
            if !names.contains(nil) { uniqueKeys.append(names.compactMap { $0 }) }
        }
        let literal = SourceConnection.literal(name)
        let sql =
            try connection.texts("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = \(literal)").first ?? ""
        let primary = columns.filter { $0.keyPlace > 0 }
        if !primary.isEmpty { uniqueKeys.append(primary.map(\.name)) }
        let isRowid = primary.count == 1 && primary[0].declaredType.uppercased() == "INTEGER" && !hasKeyIndex
        return Table(
            name: name,
            columns: columns,
            foreignKeys: keys.map { ForeignKey(columns: $0.columns, table: $0.table, destinations: $0.destinations) },
            uniqueKeys: uniqueKeys,
            keepsKeys: !isRowid || sql.uppercased().contains("AUTOINCREMENT"),
            isWithoutRowid: isListed && list.optionalInt(4) == 1,
            isStrict: isStrict,
            rowidKey: isRowid ? primary[0].name : nil
        )
    }
}

/// A name as SQLite compares it: by its bytes, with the letters A to Z in either case.
package struct SQLName: Hashable, Sendable {
    private let bytes: [UInt8]

    init(_ name: String) { bytes = name.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 } }

    /// The name in small letters.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension String {
    package var sqlName: SQLName { SQLName(self) }
}

extension SourceValue {
    /// The value after storing it in a column of an affinity.
    package func stored(in affinity: TableFile.Affinity) -> SourceValue {
        switch (affinity, self) {
        case (.integer, .real(let number)), (.numeric, .real(let number)):
            return Int64(exactly: number).map { .int($0) } ?? self
        case (.real, .int(let number)): return .real(Double(number))
        case (.text, .int(let number)): return .text(String(number))
        case (.integer, .text(let text)), (.numeric, .text(let text)):
            guard let number = Int64(text), String(number) == text else { return self }
            return .int(number)
        default: return self
        }
    }

    /// Whether a constant of a mapping means this value.
    package func matches(_ constant: MappedConstant) -> Bool {
        switch (self, constant) {
        case (.null, .null): true
        case (.int(let number), .int(let other)): number == other
        case (.int(let number), .double(let other)): Double(number) == other
        case (.int(let number), .bool(let flag)): number == (flag ? 1 : 0)
        case (.real(let number), .double(let other)): number == other
        case (.real(let number), .int(let other)): number == Double(other)
        case (.text(let text), .string(let other)): text.utf8.elementsEqual(other.utf8)
        default: false
        }
    }

    /// The value as a code in a mapping; nil unless it is a whole number or a text.
    package var code: String? {
        switch self {
        case .int(let number): String(number)
        case .text(let text): text
        default: nil
        }
    }

    /// A short form without a person's texts.
    package var kindSummary: String {
        guard case .text(let text) = self else { return summary }
        let isPlain =
            text.utf8.count <= 32 && text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || "-+.:/ TZ".utf8.contains($0) }
        return text.isEmpty ? "an empty text" : isPlain ? text : "a text"
    }

    /// A short form for reports.
    var summary: String {
        switch self {
        case .null: return "NULL"
        case .int(let number): return String(number)
        case .real(let number): return String(number)
        case .text(let text): return text
        case .malformedText(let bytes): return "a text of \(bytes.count) bytes that is not UTF-8"
        case .blob(let bytes):
            return bytes.count <= 16
                ? "x'" + bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "'"
                : "\(bytes.count) bytes"
        }
    }
}
