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
        /// The path of the file with the rows that were set aside; nil without such rows.
        public internal(set) var attachment: String?
        /// Oddities of the file.
        public internal(set) var notes: [String] = []
        /// What the second reading found to be different; empty if the store says what the file says.
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
    /// What the mapping's check says of the file.
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
                "nothing is imported: \(shown)\(more) (`\(OperatorCommand.name) map check \(file.path) MAPPING` says more"
                    + (refused.allSatisfy(\.isAboutValues) ? "; --allow-aside imports the other rows)" : ")"),
                at: .init(path: file.path)
            )
        }
    }

    /// Fills a store.
    ///
    /// - Parameter attachment: the path of the file for rows that are set aside.
    /// - Throws: ``HabitStoreError/Code/busy`` if the store is not empty, or another process writes to it.
    public func fill(_ store: any ReplicableStore, attachment: String, progress: (Int, Int) -> Void = { _, _ in })
        throws -> Report
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
        let aside = options.allowsAside ? try ImportAttachment(path: attachment) : nil
        let total = check.tables.reduce(0) { $0 + $1.rows }
        var load = try BulkLoad(store)
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
                    try aside?.add(AsideRow(row, part, source, rows))
                    return
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
        }
        if report.setAside > 0 {
            report.notes.append(
                "references to rows that were set aside lead nowhere; their own links are with them in the file"
            )
        }
        try aside?.flush()
        if report.setAside > 0 { report.attachment = aside?.path }
        try load.finish(batch) { transaction in
            try BulkLoad.tell(told, author: "table import", at: Date(), schema, transaction)
        }
        progress(done, total)
        try TableWitness(file, mapping, schema).compare(store, &report)
        return report
    }
}

/// A row that became no record, for the attachment.
private struct AsideRow: Encodable {
    let table: String
    let reason = "a value does not have its form"
    let values: [String: JSON]
    /// By the tables of links, the keys that they have for the row.
    let links: [String: [[JSON]]]

    init(_ row: [SourceValue], _ part: TablePlan.Part, _ source: TablePlan.Source, _ rows: TableRows) throws {
        table = source.table.name
        values = Dictionary(zip(source.columns, row.map { JSON(stored: $0) }), uniquingKeysWith: { first, _ in first })
        var links: [String: [[JSON]]] = [:]
        for case .links(let table) in part.fields {
            let keys = try rows.linked(rows.key(row, source), table)
            if !keys.isEmpty { links[table.table] = keys.map { $0.map { JSON(stored: $0) } } }
        }
        self.links = links
    }
}
