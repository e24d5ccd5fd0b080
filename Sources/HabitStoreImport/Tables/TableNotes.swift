import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// What an import of tables keeps in files next to the store, because the store does not say it.
final class TableNotes {
    private let attachment: ImportAttachment
    private let keys: KeyFile
    private let rows: TableRows
    private var counts = (setAside: 0, originals: 0, links: 0)
    private let lineage: UUID?
    /// What earlier merges into the store found rows to be, by their natural keys.
    let identifiers: [TableWitness.Row: UUID]

    /// A row that is a record with another identifier than its key gives.
    struct Match {
        let table: String
        let key: [SourceValue]
        /// The identifier that its key gives.
        let row: UUID
        let id: UUID
    }

    /// - Parameters:
    ///   - base: the path that the files' names begin with.
    ///   - lineage: of the store, for a merge.
    init(base: String, _ rows: TableRows, of lineage: UUID? = nil) throws {
        attachment = try ImportAttachment(path: ImportNotes(base: base).attachment)
        keys = KeyFile(path: ImportNotes(base: base).keys)
        self.rows = rows
        self.lineage = lineage
        identifiers = try lineage.map { try KeyFile.matches(in: ImportNotes(base: base).keys, of: $0) } ?? [:]
    }

    /// Adds what the record of a row does not say.
    func add(_ row: [SourceValue], _ made: TableRows.Made, _ part: TablePlan.Part, _ source: TablePlan.Source) throws {
        if !made.problems.isEmpty {
            counts.originals += 1
            try attachment.add(KeptRow(originals: row, made, part, source, rows))
        }
        let key = rows.key(row, source)
        if !source.says(key, by: made.id, part) { try keys.add(.init(table: source.table.name, key: key, id: made.id)) }
    }

    /// Remembers what rows are.
    func remember(_ matches: [Match]) throws {
        for match in matches {
            try keys.add(.init(table: match.table, key: match.key, id: match.id, row: match.row, store: lineage))
        }
        _ = try keys.finish()
    }

    /// Adds a row that becomes no record, because a value does not have its form.
    func add(aside row: [SourceValue], _ part: TablePlan.Part, _ source: TablePlan.Source) throws {
        counts.setAside += 1
        try add(row, "a value does not have its form", part, source)
    }

    /// Adds a row that the store says otherwise, or not at all.
    ///
    /// - Parameter id: the record that the row would be.
    func add(
        _ row: [SourceValue],
        _ reason: String,
        _ part: TablePlan.Part,
        _ source: TablePlan.Source,
        id: UUID? = nil
    ) throws {
        var kept = try KeptRow(aside: row, reason, part, source, rows)
        kept.id = id
        try attachment.add(kept)
    }

    /// Adds the links that belong to no row of a table.
    func addOwnerless(_ source: TablePlan.Source) throws {
        for links in source.linkTables {
            try rows.forEachOwnerless(links, source) { row in
                counts.links += 1
                try attachment.add(KeptRow(ownerless: row, links))
            }
        }
    }

    /// Writes everything to disk.
    func finish(_ report: inout TableImport.Report) throws {
        try attachment.flush()
        report.keys = try keys.finish()
        (report.setAside, report.keptOriginals, report.keptLinks) = (counts.setAside, counts.originals, counts.links)
        if !attachment.isEmpty { report.attachment = attachment.path }
        guard counts.setAside > 0 else { return }
        report.notes.append(
            "references to rows that were set aside lead nowhere; their own links are with them in the file"
        )
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
    init(
        aside row: [SourceValue],
        _ reason: String,
        _ part: TablePlan.Part,
        _ source: TablePlan.Source,
        _ rows: TableRows
    ) throws {
        (table, self.reason) = (source.table.name, reason)
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
        /// The identifier that the key gives, if the record has another one in a store.
        let row: UUID?
        let store: UUID?

        init(table: String, key: [SourceValue], id: UUID, row: UUID? = nil, store: UUID? = nil) {
            (self.table, self.id, self.row, self.store) = (table, id, row, store)
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

    /// The rows of a file's lines that are records with other identifiers in a store.
    static func matches(in path: String, of store: UUID) throws -> [TableWitness.Row: UUID] {
        struct Match: Decodable {
            let table: String
            let id: UUID
            let row: UUID?
            let store: UUID?
        }
        var result: [TableWitness.Row: UUID] = [:]
        var number = 0
        try AppendedFile(path: path).forEachLine { line in
            number += 1
            let match: Match
            do {
                match = try JSONDecoder().decode(Match.self, from: Data(line.utf8))
            } catch {
                // A crash cut the line off. The next merge recognizes its row by the natural key again.
                guard !line.hasPrefix("{") || line.hasSuffix("}") else { return }
                throw HabitStoreError(
                    .corrupt,
                    "line \(number) is damaged, so it is unknown which records the rows of earlier merges are; restore the file, or remove it "
                        + "if no natural key has changed since",
                    at: .init(path: path),
                    underlying: error
                )
            }
            guard let row = match.row, match.store == store else { return }
            result[TableWitness.Row(table: match.table.sqlName, id: row)] = match.id
        }
        return result
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
