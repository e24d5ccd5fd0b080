import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// Imports another program's tables into an empty store, by a mapping.
///
/// The records come in batches, of which none takes effect before code that shares nothing with the import has read the file once more and found
/// them in the store (``TableWitness``). An import that was killed continues. Nothing of the file is kept in memory but identifiers, of which files
/// hold most.
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

        /// What became of rows that were merged into a store with records.
        public struct Merged: Sendable, Encodable {
            /// Rows that became new records.
            public internal(set) var inserted = 0
            /// Rows whose records the store had already, with the same values.
            public internal(set) var unchanged = 0
            /// Rows whose records the store has with other values, which stay. The rows are in ``Report/attachment``.
            public internal(set) var differing = 0
            /// Rows that are records of the store by their natural key; most count as unchanged or differing, too.
            public internal(set) var matched = 0
            /// Rows whose records were deleted in the store, and stay so.
            public internal(set) var deleted = 0
            /// Rows that the store's rules refuse: another record has a unique value, or a record that they need is missing. They are in
            /// ``Report/attachment``.
            public internal(set) var refused = 0
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

        /// What became of rows that were merged into a store with records; nil for an import into an empty store.
        public internal(set) var merged: Merged?

        /// Whether the store says what the file says, rows that were set aside excepted.
        public var isVerified: Bool { differences.isEmpty }

        /// Whether fewer rows became records than were set aside or refused.
        public var isMostlySetAside: Bool {
            let refused = merged?.refused ?? 0
            return setAside + refused > entities.reduce(0) { $0 + $1.records } - refused
        }
    }

    /// Options of an import.
    public struct Options: Sendable {
        /// Whether rows with values that do not have their form are set aside; otherwise nothing is imported.
        public var allowsAside = false

        /// Default options.
        public init() {}
    }

    let file: TableFile
    let mapping: TableMapping
    let schema: Schema
    let plan: TablePlan
    let options: Options
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
    /// If the report has differences, the store remains unfinished and serves no one.
    ///
    /// - Parameters:
    ///   - base: the path that these files' names begin with.
    ///   - willTakeEffect: called with the report when everything is in the store, right before it takes effect; a throw leaves it unfinished.
    /// - Throws: ``HabitStoreError/Code/busy`` if the store is not empty, or another process writes to it.
    public func fill(
        _ store: any ReplicableStore,
        notes base: String,
        progress: (Int, Int) -> Void = { _, _ in },
        willTakeEffect: (Report) throws -> Void = { _ in }
    ) throws -> Report {
        try fill(store, notes: base, at: Date(), reopening: nil, progress: progress, willTakeEffect: willTakeEffect)
    }

    /// Fills a store.
    ///
    /// - Parameters:
    ///   - time: of the import, in the store's history.
    ///   - earlier: of an import that has taken effect in the store, which has served no one, and is filled again.
    func fill(
        _ store: any ReplicableStore,
        notes base: String,
        at time: Date,
        reopening earlier: Date?,
        progress: (Int, Int) -> Void = { _, _ in },
        willTakeEffect: (Report) throws -> Void
    ) throws -> Report {
        guard try earlier != nil || BulkLoad.isPossible(in: store) else {
            throw HabitStoreError(
                .busy,
                "the store has records already; --merge adds the rows to them",
                at: .init(path: (store as? any MaintainableStore)?.path)
            )
        }
        var report = Report(file: file.path)
        report.notes = check.notes
        report.leftOut = check.tables.filter { $0.entity == nil }
        let total = check.tables.reduce(0) { $0 + $1.rows }
        var load = try BulkLoad(store, continuing: Self.kind, reopening: earlier)
        // The files may be another run's by now.
        try load.requireOwn()
        // Lines of an import that was interrupted say nothing about this one.
        for path in [ImportNotes(base: base).attachment, ImportNotes(base: base).keys] {
            _ = try FileFailure.mappingErrors { try DurableFile.remove(path) }
        }
        let rows = TableRows(file, plan)
        let notes = try TableNotes(base: base, rows)
        var told: [Int: SpilledIdentifiers] = [:]
        var batch: BulkLoad.Batch = []
        var done = 0
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
                    return try notes.add(aside: row, part, source)
                }
                try notes.add(row, made, part, source)
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
            try notes.addOwnerless(source)
        }
        try notes.finish(&report)
        try load.put(batch)
        try load.keepOnly(told)
        progress(done, total)
        try store.replicaRead { try TableWitness(file, mapping, schema).compare($0, &report) }
        guard report.isVerified else { return report }
        try willTakeEffect(report)
        try load.finish([]) { try BulkLoad.tell(told, author: Self.author, at: time, schema, $0) }
        return report
    }

    /// What an unfinished import says that it is; the next one of this kind keeps its records.
    private static let kind = "tables"

    /// The author of an import's transactions in the history.
    static let author = "table import"

    /// Compares a store with the file, as an import does at its end: every row has a record with its values, and there are no others. Nothing is
    /// written.
    public func verify(_ store: any ReplicableStore) throws -> Report {
        var report = Report(file: file.path)
        report.entities = check.tables.compactMap { table in
            table.entity.map { Report.Entity(table: table.table, entity: $0, rows: table.rows, records: table.rows) }
        }
        try store.replicaRead { try TableWitness(file, mapping, schema).compare($0, &report) }
        return report
    }
}
