import Foundation
@_spi(Engines) import HabitStore
import Hashing
import ShadowVerifier

/// Compares two SQLite files of any program: how their tables are declared, how many rows they have, and every value to the last bit.
///
/// Rows belong together that have the same primary key, or the same unique key without NULLs. Rows of tables without such a key are compared
/// as a multiset. The order of tables, columns and rows does not matter. Both files are read from private copies.
public struct TableComparison {
    private let names: (a: String, b: String)
    private let files: (a: TableFile, b: TableFile)
    private let options: VerificationOptions

    /// Copies and opens both files. Of the options, queries, expectations and checkpoints are for stores only.
    ///
    /// - Parameter options: the scope. Files keep no digests, so that ``ShadowVerifier/VerificationDepth/keptDigests`` is as good as
    ///   ``ShadowVerifier/VerificationDepth/full``, which counts the entries of indexes; ``ShadowVerifier/VerificationDepth/paranoid`` has
    ///   SQLite compare each entry with its row.
    /// - Throws: ``HabitStoreError/Code/notAStore`` if one is not a SQLite file, ``HabitStoreError/Code/corrupt`` if one is damaged.
    public init(_ a: String, _ b: String, options: VerificationOptions = VerificationOptions()) throws {
        names = (a, b)
        files = (try TableFile(comparing: a), try TableFile(comparing: b))
        self.options = options
        for file in [files.a, files.b] { file.connection.addByteCollation() }
    }

    /// Compares the files.
    ///
    /// - Parameter progress: gets the progress now and then; an error that it throws ends the comparison.
    /// - Throws: errors of reading the files, unless ``ShadowVerifier/VerificationOptions/reportsErrors``.
    public func run(progress: (ShadowVerifier.Progress) throws -> Void = { _ in }) throws -> VerificationReport {
        let tables = Set((files.a.tables + files.b.tables).map(\.name.sqlName)).sorted { $0.text < $1.text }.map {
            name in
            TablePair(
                a: files.a.tables.first { $0.name.sqlName == name },
                b: files.b.tables.first { $0.name.sqlName == name }
            )
        }
        let others = (a: try files.a.otherDeclarations(), b: try files.b.otherDeclarations())
        let owners = Set(others.a.union(others.b).map(\.ownerName))
        let shapes = tables.map(\.shape) + owners.map { EntityShape(name: $0, attributes: []) }
        var report = try FileReport(names, Schema(shapes: shapes), options)
        note(&report)
        try report.conclude { report in
            try report.run("declarations", unit: "tables", progress) { report in
                for pair in tables { try compareDeclarations(pair, &report) }
                note(others.a, others.b, &report)
                try compareVersions(&report)
                return tables.count
            }
            try report.run("counts", unit: "tables", progress) { report in
                for pair in tables { try compareCounts(pair, &report) }
                return tables.count
            }
            let before = report.report.differenceCount
            try report.run("contents", unit: "rows", progress) { report in
                try tables.reduce(0) { try $0 + compareRows($1, &report, progress) }
            }
            // If all rows are equal, so are their references.
            if report.report.differenceCount > before {
                try report.run("relationships", unit: "tables", progress) { report in
                    for pair in tables { try compareReferences(pair, &report) }
                    return tables.count
                }
            }
            try report.run("indexes", unit: "entries", progress) { report in
                try [(files.a, "A"), (files.b, "B")].reduce(0) { try $0 + checkIndexes($1.0, $1.1, &report) }
            }
            if try [files.a, files.b].contains(where: { try !unread($0).isEmpty }) {
                try report.run("tables of the app", unit: "tables", progress) { _ in
                    try requireAllRead()
                    return 0
                }
            }
        }
        return report.report
    }

    private func note(_ report: inout FileReport) {
        for (file, name) in [(files.a, "A"), (files.b, "B")] {
            for table in file.leftAlone { report.leaveOut("\(table.name) in \(name): \(table.reason)") }
            for oddity in file.oddities { report.remark("\(name): \(oddity.message)") }
        }
        if options.depth == .keptDigests { report.remark("files keep no digests, so all rows were read") }
    }

    /// The tables that only the file's app can read.
    private func unread(_ file: TableFile) throws -> [SourceCatalog.Unreadable] {
        try file.connection.catalog().unreadable.filter { !$0.isVirtual }
    }

    /// Such a table may have anything in it.
    private func requireAllRead() throws {
        for file in [files.a, files.b] {
            guard let table = try unread(file).first else { continue }
            throw HabitStoreError(
                .unsupported,
                "the table \(table.description) cannot be read without its app, so it was not compared",
                at: .init(path: file.path)
            )
        }
    }

    // MARK: Declarations

    private func compareDeclarations(_ pair: TablePair, _ report: inout FileReport) throws {
        guard let a = pair.a, let b = pair.b else {
            let missing = pair.a == nil ? "A" : "B"
            report.note(
                StoreDifference(
                    .declaration,
                    "there is no table \(pair.name) in \(pair.a == nil ? names.a : names.b)",
                    entity: pair.name,
                    subject: missing
                )
            )
            return
        }
        for column in Set((a.columns + b.columns).map(\.name.sqlName)).sorted(by: { $0.text < $1.text }) {
            let (left, right) = (a.column(column.text), b.column(column.text))
            guard let left, let right else {
                let other = left == nil ? names.a : names.b
                report.note(
                    StoreDifference(
                        .declaration,
                        "\(pair.name) has no column \(left?.name ?? right?.name ?? "") in \(other), so its values are not compared",
                        entity: pair.name,
                        attribute: left?.name ?? right?.name
                    )
                )
                continue
            }
            for (what, one, other) in left.differences(from: right) {
                report.note(
                    StoreDifference(
                        .declaration,
                        "\(pair.name).\(left.name) has \(what): \(one) in A, \(other) in B",
                        entity: pair.name,
                        attribute: left.name,
                        a: one,
                        b: other,
                        subject: what
                    )
                )
            }
        }
        let declared = (try files.a.declarations(of: a), try files.b.declarations(of: b))
        note(declared.0.binding, declared.1.binding, &report)
        for (only, name) in [
            (declared.0.indexes.subtracting(declared.1.indexes), names.a),
            (declared.1.indexes.subtracting(declared.0.indexes), names.b),
        ] {
            for item in only.map(\.text).sorted() {
                report.remark("\(pair.name) has an index over \(item) only in \(name)")
            }
        }
    }

    /// Compares the numbers that apps keep in a file's header.
    private func compareVersions(_ report: inout FileReport) throws {
        for pragma in ["user_version", "application_id"] {
            let values = try [files.a, files.b].map { try $0.connection.int("PRAGMA \(pragma)") ?? 0 }
            if values[0] != values[1] { report.remark("the \(pragma) is \(values[0]) in A, \(values[1]) in B") }
        }
    }

    private func note(_ a: Set<Declaration>, _ b: Set<Declaration>, _ report: inout FileReport) {
        for (only, name, letter) in [(a.subtracting(b), names.a, "A"), (b.subtracting(a), names.b, "B")] {
            for item in only.sorted(by: { ($0.ownerName, $0.what, $0.text) < ($1.ownerName, $1.what, $1.text) }) {
                report.note(
                    StoreDifference(
                        .declaration,
                        "\(item.ownerName) has \(item.what) \(item.text) only in \(name)",
                        entity: item.ownerName,
                        subject: "\(letter) \(item.what) \(item.text)"
                    )
                )
            }
        }
    }

    // MARK: Rows

    private func compareCounts(_ pair: TablePair, _ report: inout FileReport) throws {
        let counts = (try count(pair.a, files.a), try count(pair.b, files.b))
        report.count(pair.name, counts.0, counts.1)
        guard let left = counts.0, let right = counts.1, left != right else { return }
        report.note(
            StoreDifference(
                .count,
                "\(pair.name): \(left) rows in \(names.a), \(right) in \(names.b)",
                entity: pair.name,
                a: String(left),
                b: String(right)
            )
        )
    }

    private func count(_ table: TableFile.Table?, _ file: TableFile) throws -> Int? {
        // An index, which SQLite would count instead, may lack entries.
        try table.flatMap {
            try file.connection.int("SELECT count(*) FROM \(SourceConnection.quoted($0.name)) NOT INDEXED").map(
                Int.init
            )
        }
    }

    /// - Returns: the number of rows compared.
    private func compareRows(
        _ pair: TablePair,
        _ report: inout FileReport,
        _ progress: (ShadowVerifier.Progress) throws -> Void
    ) throws -> Int {
        guard let a = pair.a, let b = pair.b else { return 0 }
        let rows = RowComparison(
            pair.name,
            a.columns.filter { b.column($0.name) != nil }.map(\.name),
            files,
            showsValues: options.showsValues
        )
        guard !rows.columns.isEmpty else { return 0 }
        var compared = 0
        let advance: (inout FileReport) throws -> Void = { report in
            compared += 1
            if compared % Self.progressRows == 0 { try report.advance(Self.progressRows, progress) }
        }
        if let key = try key(a, b) {
            try rows.compare(byKey: key, &report, advance)
        } else {
            try rows.compareMultisets(&report, advance)
        }
        try report.advance(compared % Self.progressRows, progress)
        return compared
    }

    private static let progressRows = 4_096

    /// The columns that tell rows apart in both tables; nil if there are none.
    private func key(_ a: TableFile.Table, _ b: TableFile.Table) throws -> [String]? {
        let keys = [a.primaryKey] + a.uniqueKeys.sorted { $0.lexicographicallyPrecedes($1) }
        let others = Set((b.uniqueKeys + [b.primaryKey]).map { Set($0.map(\.sqlName)) })
        return try keys.first { key in
            guard !key.isEmpty, others.contains(Set(key.map(\.sqlName))) else { return false }
            // Other keys than whole numbers may be NULL, more than once.
            return try [files.a, files.b].allSatisfy { file in
                let isNull = key.map { "\(SourceConnection.quoted($0)) IS NULL" }.joined(separator: " OR ")
                return try file.connection.int(
                    "SELECT 1 FROM \(SourceConnection.quoted(a.name)) NOT INDEXED WHERE \(isNull) LIMIT 1"
                ) == nil
            }
        }
    }

    // MARK: References and indexes

    private func compareReferences(_ pair: TablePair, _ report: inout FileReport) throws {
        guard let a = pair.a, let b = pair.b, !a.foreignKeys.isEmpty || !b.foreignKeys.isEmpty else { return }
        let dangling: [[String: Int64]]
        do {
            dangling = try [(a, files.a), (b, files.b)].map { try danglingReferences(of: $0, in: $1) }
        } catch let error as HabitStoreError where files.a.connection.needsApp() || files.b.connection.needsApp() {
            report.leaveOut("the references of \(pair.name): \(error.detail ?? error.message)")
            return
        }
        for parent in Set(dangling[0].keys).union(dangling[1].keys).sorted() {
            let (left, right) = (dangling[0][parent] ?? 0, dangling[1][parent] ?? 0)
            guard left != right else { continue }
            report.note(
                StoreDifference(
                    .dangling,
                    "\(pair.name): \(left) references lead to no row of \(parent) in \(names.a), \(right) in \(names.b)",
                    entity: pair.name,
                    a: String(left),
                    b: String(right),
                    subject: parent
                )
            )
        }
    }

    /// How many references lead to no row, by the table that they are to lead to.
    private func danglingReferences(of table: TableFile.Table, in file: TableFile) throws -> [String: Int64] {
        let rows = try file.connection.prepare(
            "SELECT \"parent\", count(*) FROM pragma_foreign_key_check(\(SourceConnection.literal(table.name))) GROUP BY 1"
        )
        var counts: [String: Int64] = [:]
        // The parent is named as the declaration spells it.
        while try rows.step() { counts[(rows.text(0) ?? "").sqlName.text, default: 0] += rows.optionalInt(1) ?? 0 }
        return counts
    }

    /// - Returns: the number of entries counted, or of rows checked.
    private func checkIndexes(_ file: TableFile, _ name: String, _ report: inout FileReport) throws -> Int {
        var entries = 0
        for table in file.tables {
            let quoted = SourceConnection.quoted(table.name)
            let rows = try count(table, file) ?? 0
            if options.depth == .paranoid {
                try checkEntries(table, file, name, &report)
                entries += rows
                continue
            }
            let indexes = try file.connection.texts(
                "SELECT name FROM pragma_index_list(\(SourceConnection.literal(table.name))) WHERE partial = 0 "
                    // The index of such a table's primary key is the table.
                    + (table.isWithoutRowid ? "AND origin <> 'pk' " : "") + "ORDER BY name"
            )
            for index in indexes {
                let found = try file.connection.int(
                    "SELECT count(*) FROM \(quoted) INDEXED BY \(SourceConnection.quoted(index))"
                )
                entries += Int(found ?? 0)
                guard let found, Int(found) != rows else { continue }
                note(damage: "the index \(index) has \(found) entries for \(rows) rows", in: table.name, name, &report)
            }
        }
        return entries
    }

    /// Has SQLite compare each index entry with its row, unless that needs a collation or a function of the app's.
    private func checkEntries(
        _ table: TableFile.Table,
        _ file: TableFile,
        _ name: String,
        _ report: inout FileReport
    ) throws {
        let foreign = try file.connection.texts(
            "SELECT DISTINCT x.coll FROM pragma_index_list(\(SourceConnection.literal(table.name))) AS i, "
                + "pragma_index_xinfo(i.name) AS x WHERE x.key AND upper(x.coll) NOT IN ('BINARY', 'NOCASE', 'RTRIM')"
        )
        guard foreign.isEmpty else {
            report.leaveOut(
                "the indexes of \(table.name) in \(name): they need the app's collation \(foreign[0])"
            )
            return
        }
        do {
            for finding in try file.connection.texts("PRAGMA integrity_check(\(SourceConnection.quoted(table.name)))")
            where finding != "ok" {
                note(damage: finding, in: table.name, name, &report)
            }
        } catch let error as HabitStoreError where file.connection.needsApp() {
            report.leaveOut("the indexes of \(table.name) in \(name): \(error.detail ?? error.message)")
        }
    }

    private func note(damage: String, in table: String, _ name: String, _ report: inout FileReport) {
        let isOfIndex = damage.contains("missing from index") || damage.contains("entries")
        let advice = isOfIndex ? "; `REINDEX \(SourceConnection.quoted(table))` rebuilds its indexes" : ""
        report.note(
            StoreDifference(
                .damage,
                "\(table) in \(name == "A" ? names.a : names.b): \(damage)\(advice)",
                entity: table,
                subject: "\(name) \(damage)"
            )
        )
    }
}

/// A table of both files, or of one.
private struct TablePair {
    let a: TableFile.Table?
    let b: TableFile.Table?

    var name: String { a?.name ?? b?.name ?? "" }

    /// The columns, for ignore rules and recordings.
    var shape: EntityShape {
        var columns: [String] = []
        for column in (a?.columns ?? []) + (b?.columns ?? [])
        where !columns.contains(where: { $0.sqlName == column.name.sqlName }) {
            columns.append(column.name)
        }
        return EntityShape(
            name: name,
            attributes: columns.map { AttributeShape(name: $0, kind: .data, isOptional: true) }
        )
    }
}

extension TableFile.Column {
    /// What two declarations of a column say differently, and how.
    fileprivate func differences(from other: TableFile.Column) -> [(String, String, String)] {
        func declared(_ column: TableFile.Column) -> [(String, String)] {
            [
                ("another affinity", column.affinity.rawValue),
                ("another rule about NULL", column.isNotNull ? "NOT NULL" : "NULL allowed"),
                ("another collation", column.collation),
                ("another place in the primary key", column.keyPlace == 0 ? "none" : String(column.keyPlace)),
                ("values that are", column.isGenerated ? "computed" : "stored"),
            ]
        }
        var found = zip(declared(self), declared(other)).filter { $0.1 != $1.1 }.map { ($0.0, $0.1, $1.1) }
        // No default means NULL; a word in double quotes is a text.
        let defaults = (defaultValue ?? "NULL", other.defaultValue ?? "NULL")
        let keywords: Set = ["null", "true", "false", "current_time", "current_date", "current_timestamp"]
        func spelled(_ text: String) -> [UInt8] {
            let lowercased = text.sqlName.text
            return Array((keywords.contains(lowercased) ? lowercased : text).utf8)
        }
        if spelled(defaults.0) != spelled(defaults.1) { found.append(("another default", defaults.0, defaults.1)) }
        return found
    }
}

/// Compares the rows of one table in two files.
private final class RowComparison {
    private let table: String
    let columns: [String]
    private let files: (a: TableFile, b: TableFile)
    private let showsValues: Bool
    /// The column of the rows' own numbers in both files.
    private let rowidKey: SQLName?
    private var unnamed = 0

    init(_ table: String, _ columns: [String], _ files: (a: TableFile, b: TableFile), showsValues: Bool) {
        (self.table, self.columns, self.files, self.showsValues) = (table, columns, files, showsValues)
        let keys = [files.a, files.b].map { $0.table(table)?.rowidKey?.sqlName }
        rowidKey = keys[0] == keys[1] ? keys[0] : nil
    }

    // MARK: By key

    /// Walks both tables in the order of a key that no two rows share.
    func compare(
        byKey key: [String],
        _ report: inout FileReport,
        _ advance: (inout FileReport) throws -> Void
    ) throws {
        let places = key.compactMap { name in columns.firstIndex { $0.sqlName == name.sqlName } }
        let left = try rows(files.a, orderedBy: places)
        let right = try rows(files.b, orderedBy: places)
        var isThere = (a: try left.step(), b: try right.step())
        while isThere.a || isThere.b {
            let order: Int32
            if isThere.a, isThere.b {
                order = places.lazy.map { left.order($0, before: right, $0) }.first { $0 != 0 } ?? 0
            } else {
                order = isThere.a ? -1 : 1
            }
            try advance(&report)
            if order < 0 {
                noteMissing(.missingInB, values(left), places, &report)
            } else if order > 0 {
                noteMissing(.missingInA, values(right), places, &report)
            } else {
                let differing = columns.indices.filter { !left.isIdentical($0, to: right, $0) }
                if !differing.isEmpty { note(differing, values(left), values(right), places, &report) }
            }
            if order <= 0 { isThere.a = try left.step() }
            if order >= 0 { isThere.b = try right.step() }
        }
    }

    private func values(_ row: SourceStatement) -> [SourceValue] { columns.indices.map { row.value($0) } }

    private func note(
        _ differing: [Int],
        _ left: [SourceValue],
        _ right: [SourceValue],
        _ key: [Int],
        _ report: inout FileReport
    ) {
        for column in differing {
            report.note(
                StoreDifference(
                    .attribute,
                    "\(label(left, key)): \(columns[column]) differs",
                    entity: table,
                    id: identifier(left, key),
                    attribute: columns[column],
                    a: shown(left[column]),
                    b: shown(right[column]),
                    subject: subject(left, key)
                )
            ) { (a: cells(left), b: cells(right)) }
        }
    }

    private func noteMissing(
        _ kind: StoreDifference.Kind,
        _ row: [SourceValue],
        _ key: [Int],
        counts: (a: Int, b: Int) = (0, 0),
        _ report: inout FileReport
    ) {
        let isMissingInA = kind == .missingInA
        let name = isMissingInA ? files.a.path : files.b.path
        let isRepeated = min(counts.a, counts.b) > 0 || max(counts.a, counts.b) > 1
        let what = isRepeated ? "is \(counts.a) times in A, \(counts.b) times in B" : "is not in \(name)"
        report.note(
            StoreDifference(
                kind,
                "\(label(row, key)) \(what)",
                entity: table,
                id: identifier(row, key),
                subject: subject(row, key)
            )
        ) {
            (a: isMissingInA ? nil : cells(row), b: isMissingInA ? cells(row) : nil)
        }
    }

    /// The row in a message. A row's own number and a UUID say nothing about a person; another key may.
    private func label(_ row: [SourceValue], _ key: [Int]) -> String {
        guard key.count < columns.count || showsValues else { return "a row of \(table)" }
        return "\(table) " + key.map { plainKey(row[$0], $0) ?? shown(row[$0]) }.joined(separator: ", ")
    }

    private func plainKey(_ value: SourceValue, _ column: Int) -> String? {
        switch value {
        case .int(let number) where rowidKey == columns[column].sqlName: return String(number)
        case .text(let text): return UUID(uuidString: text) == nil ? nil : text
        case .blob(let bytes):
            // Sixteen bytes may be anything; a text has no such bits, or is valid.
            guard bytes.count == 16, bytes[bytes.startIndex + 8] & 0xC0 == 0x80,
                String(validating: bytes, as: UTF8.self) == nil
            else { return nil }
            return UUID(bytes: bytes).uuidString
        default: return nil
        }
    }

    /// An identifier that the same row always has; nil if it could be tried against what a row may be.
    private func identifier(_ row: [SourceValue], _ key: [Int]) -> UUID? {
        guard showsValues || key.allSatisfy({ plainKey(row[$0], $0) != nil }) else { return nil }
        return DerivedID.make(
            ["habitstore row", table.sqlName.text] + key.map { row[$0].exactBytes.base64EncodedString() }
        )
    }

    /// Numbers the table's differences that have no identifier.
    private func subject(_ row: [SourceValue], _ key: [Int]) -> String? {
        guard identifier(row, key) == nil else { return nil }
        unnamed += 1
        return "row \(unnamed)"
    }

    private func shown(_ value: SourceValue) -> String {
        if showsValues {
            guard case .text(let text) = value else { return value.summary }
            return "\"\(text)\""
        }
        switch value {
        case .null: return "NULL"
        case .int: return "an integer"
        case .real: return "a real number"
        case .text(let text): return "a text of \(text.count) characters"
        case .malformedText, .blob: return value.summary.hasPrefix("x'") ? "bytes" : value.summary
        }
    }

    private func cells(_ row: [SourceValue]) -> [FileReport.Cell] {
        columns.indices.map { FileReport.Cell(column: columns[$0], bytes: row[$0].exactBytes, shown: shown(row[$0])) }
    }

    // MARK: Without a key

    /// Compares the rows as multisets: first by sums of their digests, which no order changes, then in the order of all columns.
    func compareMultisets(_ report: inout FileReport, _ advance: (inout FileReport) throws -> Void) throws {
        let digests = (try digest(files.a) { try advance(&report) }, try digest(files.b) {})
        guard digests.0 != digests.1 else { return }
        let places = Array(columns.indices)
        var left = SortedRows(try rows(files.a, orderedBy: places), columns.count)
        var right = SortedRows(try rows(files.b, orderedBy: places), columns.count)
        var groups = (a: try left.next(), b: try right.next())
        while groups.a != nil || groups.b != nil {
            let order: Int32
            if let a = groups.a, let b = groups.b {
                order = SortedRows.order(a.first, b.first)
            } else {
                order = groups.a == nil ? 1 : -1
            }
            let here = order <= 0 ? groups.a?.rows ?? [:] : [:]
            let there = order >= 0 ? groups.b?.rows ?? [:] : [:]
            for (bytes, row) in here.merging(there, uniquingKeysWith: { first, _ in first }).sorted(by: {
                $0.key.lexicographicallyPrecedes($1.key)
            }) {
                let counts = (here[bytes]?.count ?? 0, there[bytes]?.count ?? 0)
                guard counts.0 != counts.1 else { continue }
                let kind: StoreDifference.Kind = counts.0 > counts.1 ? .missingInB : .missingInA
                noteMissing(kind, row.values, places, counts: counts, &report)
            }
            if order <= 0 { groups.a = try left.next() }
            if order >= 0 { groups.b = try right.next() }
        }
    }

    /// The sum of the rows' digests, modulo 2^128.
    private func digest(_ file: TableFile, _ advance: () throws -> Void) throws -> UInt128 {
        let rows = try rows(file, orderedBy: [])
        var sum: UInt128 = 0
        while try rows.step() {
            let digest = SHA256.hash(data: SortedRows.bytes(values(rows)))
            sum &+= digest.withUnsafeBytes { $0.loadUnaligned(as: UInt128.self) }
            try advance()
        }
        return sum
    }

    private func rows(_ file: TableFile, orderedBy key: [Int]) throws -> SourceStatement {
        let names = columns.map { SourceConnection.quoted($0) }
        let table = file.table(self.table)
        let isUTF8 = try file.connection.texts("PRAGMA encoding") == ["UTF-8"]
        let order = key.map { place in
            // BINARY is the default, and then the table's own order serves.
            let isBinary = isUTF8 && table?.column(columns[place])?.collation == "BINARY"
            return isBinary ? names[place] : "\(names[place]) COLLATE \(SourceConnection.byteCollation)"
        }
        // An index may be out of date.
        return try file.connection.prepare(
            "SELECT \(names.joined(separator: ", ")) FROM \(SourceConnection.quoted(self.table)) NOT INDEXED"
                + (order.isEmpty ? "" : " ORDER BY \(order.joined(separator: ", "))")
        )
    }
}

/// Rows sorted by all columns, in groups that compare equal: 1 and 1.0 do.
private struct SortedRows {
    struct Group {
        let first: [SourceValue]
        /// By their exact bytes.
        var rows: [Data: (values: [SourceValue], count: Int)]
    }

    private let statement: SourceStatement
    private let count: Int
    private var ahead: [SourceValue]?
    private var isBegun = false

    init(_ statement: SourceStatement, _ count: Int) { (self.statement, self.count) = (statement, count) }

    mutating func next() throws -> Group? {
        if !isBegun { ahead = try row() }
        isBegun = true
        guard let first = ahead else { return nil }
        var group = Group(first: first, rows: [:])
        while let row = ahead, Self.order(first, row) == 0 {
            group.rows[Self.bytes(row), default: (row, 0)].count += 1
            ahead = try self.row()
        }
        return group
    }

    private func row() throws -> [SourceValue]? {
        try statement.step() ? (0..<count).map { statement.value($0) } : nil
    }

    static func order(_ left: [SourceValue], _ right: [SourceValue]) -> Int32 {
        zip(left, right).lazy.map { SourceValue.order($0, before: $1) }.first { $0 != 0 } ?? 0
    }

    /// A row's values, each after its length.
    static func bytes(_ row: [SourceValue]) -> Data {
        var data = Data()
        for value in row {
            let bytes = value.exactBytes
            withUnsafeBytes(of: UInt64(bytes.count)) { data.append(contentsOf: $0) }
            data.append(bytes)
        }
        return data
    }
}
