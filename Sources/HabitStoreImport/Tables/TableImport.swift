import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// Imports another program's tables into an empty store, by a mapping.
///
/// The records come in batches that take effect only with the last one; an import that was killed starts again. Nothing of the file is kept in
/// memory but the identifiers, of which files hold most. Afterwards code that shares nothing with the import reads the file once more, and
/// compares (``TableWitness``).
public struct TableImport {
    /// What became of the rows.
    public struct Report: Sendable, Encodable {
        /// The rows that became records of an entity.
        public struct Entity: Sendable, Encodable {
            /// The table's name.
            public let table: String
            /// The entity's name.
            public let entity: String
            /// Rows of the table that are meant by the mapping.
            public internal(set) var rows = 0
            /// The records that they became.
            public internal(set) var records = 0
        }

        /// The file's path.
        public let file: String
        /// The rows by table and entity.
        public internal(set) var entities: [Entity] = []
        /// The tables and rows that the mapping leaves out.
        public internal(set) var leftOut: [TableMappingReport.Table] = []
        /// Rows that were not imported because a value does not have its form. They are in ``attachment``.
        public internal(set) var setAside = 0
        /// Records whose rows say something that the store cannot hold: digits, spellings, characters that NFC replaces, keys of missing rows.
        /// The original values are in ``attachment``.
        public internal(set) var keptOriginals = 0
        /// Rows of tables of links that belong to no row. They are in ``attachment``.
        public internal(set) var keptLinks = 0
        /// The path of the file with what the store does not hold, one JSON object per line; nil if there is nothing.
        public internal(set) var attachment: String?
        /// The path of the file with the keys that identifiers were derived from, one JSON object per line; nil if there are none.
        public internal(set) var keys: String?
        /// Oddities of the file.
        public internal(set) var notes: [String] = []
        /// Differences that the second reading found; empty if the store agrees with the file.
        public internal(set) var differences: [String] = []
        /// How many values the second reading compared.
        public internal(set) var comparedValues = 0

        /// Whether the store says what the file says, rows that were set aside excepted.
        public var isVerified: Bool { differences.isEmpty }

        /// Whether fewer rows became records than were set aside.
        public var isMostlySetAside: Bool { setAside > entities.reduce(0) { $0 + $1.records } }
    }

    /// Options of an import.
    public struct Options: Sendable {
        /// Whether rows with values that do not have their form are set aside; otherwise nothing is imported.
        public var allowsAside = false

        /// Default options.
        public init() {}
    }

    private let file: TableFile
    private let mapping: TableMapping
    private let schema: Schema
    private let plan: TablePlan
    private let options: Options
    /// The result of checking the mapping against the file.
    public let check: TableMappingReport

    /// Reads the whole file, so that no store is made for one that cannot be imported.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with the first findings if the mapping does not fit the file or the schema, or leaves
    ///   a question open.
    public init(_ file: TableFile, _ mapping: TableMapping, schema: Schema, _ options: Options = Options()) throws {
        (self.file, self.mapping, self.schema, self.options) = (file, mapping, schema, options)
        (plan, check) = try mapping.judged(file, schema)
        let refused = check.findings.filter { !options.allowsAside || !$0.isAboutValues }
        guard refused.isEmpty else {
            let shown = refused.prefix(3).map(\.message).joined(separator: "; ")
            let more = refused.count > 3 ? "; and \(refused.count - 3) more" : ""
            throw HabitStoreError(
                .invalidValue,
                "nothing is imported: \(shown)\(more) (`\(OperatorCommand.name) map check \(ShellWord.quoted(file.path)) MAPPING` says more"
                    + (refused.allSatisfy(\.isAboutValues) ? "; --allow-aside imports the other rows)" : ")"),
                at: .init(path: file.path)
            )
        }
    }

    /// Fills a store.
    ///
    /// Values that the store cannot hold are in files next to it before the records take effect: `…unmapped.jsonl` has rows that were set aside,
    /// original values and links of no row; `…keys.jsonl` has the keys of records whose identifier does not say them.
    ///
    /// - Parameter base: the path that these files' names begin with.
    /// - Throws: ``HabitStoreError/Code/busy`` if the store is not empty, or another process writes to it.
    public func fill(_ store: any ReplicableStore, notes base: String, progress: (Int, Int) -> Void = { _, _ in })
        throws
        -> Report
    {
        guard try BulkLoad.isPossible(in: store) else {
            throw HabitStoreError(
                .busy,
                "the store has records already; an import by a mapping fills an empty one",
                at: .init(path: (store as? any MaintainableStore)?.path)
            )
        }
        var report = Report(file: file.path)
        report.notes = check.notes
        report.leftOut = check.tables.filter { $0.entity == nil }
        let total = check.tables.reduce(0) { $0 + $1.rows }
        var load = try BulkLoad(store)
        // Lines of an import that was interrupted say nothing about this one.
        for path in [ImportNotes(base: base).attachment, ImportNotes(base: base).keys] {
            _ = try FileFailure.mappingErrors { try DurableFile.remove(path) }
        }
        let attachment = try ImportAttachment(path: ImportNotes(base: base).attachment)
        let keys = KeyFile(path: ImportNotes(base: base).keys)
        var told: [Int: SpilledIdentifiers] = [:]
        var batch: BulkLoad.Batch = []
        var done = 0
        let rows = TableRows(file, plan)
        for source in plan.sources {
            var entities = source.parts.map { part in
                Report.Entity(table: source.table.name, entity: schema.entities[part.entity].name)
            }
            try rows.forEachRow(source) { row in
                guard let part = source.parts(of: row).parts.first,
                    let place = source.parts.firstIndex(where: { $0.index == part.index })
                else { return }
                entities[place].rows += 1
                done += 1
                guard let made = try rows.make(row, part, of: source), made.isWhole else {
                    report.setAside += 1
                    try attachment.add(KeptRow(aside: row, part, source, rows))
                    return
                }
                if !made.problems.isEmpty {
                    report.keptOriginals += 1
                    try attachment.add(KeptRow(originals: row, made, part, source, rows))
                }
                if !source.says(rows.key(row, source), by: made.id, part) {
                    try keys.add(.init(table: source.table.name, key: rows.key(row, source), id: made.id))
                }
                let layout = schema.entities[part.entity].layout
                batch.append((part.entity, made.id, try EncodedRecord(made.values, layout: layout)))
                let ids = told[part.entity] ?? SpilledIdentifiers()
                told[part.entity] = ids
                try ids.append(made.id)
                entities[place].records += 1
                guard batch.count == BulkLoad.batch else { return }
                try load.put(batch)
                batch = []
                progress(done, total)
            }
            report.entities += entities
            for links in source.linkTables {
                try rows.forEachOwnerless(links, source) { row in
                    report.keptLinks += 1
                    try attachment.add(KeptRow(ownerless: row, links))
                }
            }
        }
        if report.setAside > 0 {
            report.notes.append(
                "references to rows that were set aside lead nowhere; their own links are with them in the file"
            )
        }
        try attachment.flush()
        report.keys = try keys.finish()
        if report.setAside + report.keptOriginals + report.keptLinks > 0 { report.attachment = attachment.path }
        try load.finish(batch) { transaction in
            try BulkLoad.tell(told, author: "table import", at: Date(), schema, transaction)
        }
        progress(done, total)
        try TableWitness(file, mapping, schema).compare(store, &report)
        return report
    }

    /// Compares a store with the file, as an import does at its end: every row has a record with its values, and there are no others. Nothing is
    /// written.
    public func verify(_ store: any ReplicableStore) throws -> Report {
        var report = Report(file: file.path)
        report.entities = check.tables.compactMap { table in
            table.entity.map { Report.Entity(table: table.table, entity: $0, rows: table.rows, records: table.rows) }
        }
        try TableWitness(file, mapping, schema).compare(store, &report)
        return report
    }
}

/// Values of a row that the store does not hold, for the attachment.
private struct KeptRow: Encodable {
    let table: String
    let reason: String
    /// The identifier of the record that the row became.
    var id: UUID?
    let key: [JSON]
    /// By column.
    let values: [String: JSON]
    /// By the tables of links, the keys that they have for the row.
    let links: [String: [[JSON]]]

    /// A row that became no record.
    init(aside row: [SourceValue], _ part: TablePlan.Part, _ source: TablePlan.Source, _ rows: TableRows) throws {
        (table, reason) = (source.table.name, "a value does not have its form")
        key = rows.key(row, source).map { JSON(stored: $0) }
        values = Self.values(row, Array(source.columns.indices), source)
        links = try Self.links(row, part.fields, source, rows)
    }

    /// A record's row, with the values that the record has in another form.
    init(
        originals row: [SourceValue],
        _ made: TableRows.Made,
        _ part: TablePlan.Part,
        _ source: TablePlan.Source,
        _ rows: TableRows
    ) throws {
        (table, reason, id) = (source.table.name, "the original values, which the store has in another form", made.id)
        key = rows.key(row, source).map { JSON(stored: $0) }
        let fields = Set(made.problems.map(\.attribute)).sorted().map { part.fields[$0] }
        values = Self.values(row, fields.flatMap(\.places), source)
        links = try Self.links(row, fields, source, rows)
    }

    /// A row of a table of links.
    init(ownerless row: [SourceValue], _ links: TablePlan.LinkTable) {
        (table, reason, key) = (links.table, "a link of no row", [])
        values = Dictionary(
            zip(links.here + links.there, row.map { JSON(stored: $0) }),
            uniquingKeysWith: { first, _ in first }
        )
        self.links = [:]
    }

    private static func values(_ row: [SourceValue], _ places: [Int], _ source: TablePlan.Source) -> [String: JSON] {
        Dictionary(
            places.map { (source.columns[$0], JSON(stored: row[$0])) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    private static func links(
        _ row: [SourceValue],
        _ fields: [TablePlan.Field],
        _ source: TablePlan.Source,
        _ rows: TableRows
    ) throws -> [String: [[JSON]]] {
        var links: [String: [[JSON]]] = [:]
        for case .links(let table) in fields {
            let keys = try rows.linked(rows.key(row, source), table, of: source)
            if !keys.isEmpty { links[table.table] = keys.map { $0.map { JSON(stored: $0) } } }
        }
        return links
    }
}

/// The keys that identifiers were derived from.
private final class KeyFile {
    struct Line: Encodable {
        let table: String
        let key: [JSON]
        let id: UUID

        init(table: String, key: [SourceValue], id: UUID) {
            (self.table, self.id) = (table, id)
            self.key = key.map { JSON(stored: $0) }
        }
    }

    private static let mostPending = 2_000

    private let file: AppendedFile
    private let encoder = JSONEncoder()
    private var pending: [String] = []
    private var isEmpty = true

    init(path: String) {
        file = AppendedFile(path: path)
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    func add(_ line: Line) throws {
        isEmpty = false
        pending.append(String(decoding: try encoder.encode(line), as: UTF8.self))
        guard pending.count == Self.mostPending else { return }
        try file.append(pending)
        pending = []
    }

    /// Writes the rest.
    ///
    /// - Returns: the file's path; nil if there is nothing in it.
    func finish() throws -> String? {
        try file.append(pending)
        pending = []
        return isEmpty ? nil : file.path
    }
}
