import Foundation
@_spi(Engines) import HabitStore

/// What `map check` says about a mapping of a file: of each table and column what becomes of it, and of each value whether it has its form.
public struct TableMappingReport: Sendable, Encodable {
    /// The values of an attribute, or of the key.
    public struct Values: Sendable, Encodable {
        /// The attribute or relationship; `key` for a table's key.
        public let name: String
        /// Where the values come from: columns and their form.
        public let source: String
        /// How many rows have one.
        public internal(set) var values = 0
        /// How many rows have NULL, or what means nil.
        public internal(set) var nulls = 0
        /// Values that do not have the form, or are NULL where a value is needed. Nothing is imported as long as there is one.
        public internal(set) var misfits = Occurrences()
        /// Values that are read, and would be written back in another way: with other digits, in another case.
        public internal(set) var rewritten = Occurrences()
        /// References to missing rows, which are imported unchanged.
        public internal(set) var dangling = Occurrences()
        /// The first and the last instant of a date, which show a wrong unit or year.
        public internal(set) var dates: ClosedRange<Date>?
    }

    /// How many rows there are of a kind, and the keys of the first ten.
    public struct Occurrences: Sendable, Encodable {
        /// How many there are.
        public internal(set) var count = 0
        /// The keys of the first ten, with the value in parentheses.
        public internal(set) var keys: [String] = []

        static let mostKeys = 10

        mutating func note(_ key: @autoclosure () -> String) {
            count += 1
            if keys.count < Self.mostKeys { keys.append(key()) }
        }
    }

    /// A table, or the rows of it that become records of one entity.
    public struct Table: Sendable, Encodable {
        /// The table's name.
        public let table: String
        /// Nil for rows that are left out.
        public let entity: String?
        /// How many rows there are.
        public internal(set) var rows = 0
        /// The values by attribute, in the schema's order; the key is the first.
        public internal(set) var values: [Values] = []
    }

    /// The file's path.
    public let file: String
    /// The tables that are mapped.
    public internal(set) var tables: [Table] = []
    /// Views, virtual tables with the tables that store them, and unreadable tables, each with the reason why it is not read.
    public internal(set) var leftAlone: [String: String] = [:]
    /// Mistakes to correct before an import.
    public internal(set) var findings: [MappingFinding] = []
    /// Oddities that do not prevent an import.
    public internal(set) var notes: [String] = []

    /// Whether the file can be imported by the mapping.
    public var isClean: Bool { findings.isEmpty }
}

extension TableMapping {
    /// Judges the mapping by the whole file. Nothing is written.
    ///
    /// - Throws: errors of reading the file.
    public func check(_ file: TableFile, schema: Schema) throws -> TableMappingReport {
        try judged(file, schema).report
    }

    /// The plan of an import, which is complete if the report is clean but for values, and the report.
    func judged(_ file: TableFile, _ schema: Schema) throws -> (plan: TablePlan, report: TableMappingReport) {
        var planner = TablePlanner(self, file, schema)
        let plan = planner.plan()
        var report = TableMappingReport(file: file.path)
        report.findings = planner.findings
        report.leftAlone = Dictionary(
            file.leftAlone.map { ($0.name, $0.reason) },
            uniquingKeysWith: { first, _ in first }
        )
        report.notes = file.oddities.map(\.message)
        // Rows are read by a plan whose columns are there.
        if planner.findings.isEmpty {
            let rows = TableRows(file, plan)
            for source in plan.sources { try TableRowCheck(rows, source).run(&report) }
            try requireDifferentIdentifiers(rows, &report)
            for name in leftOutTables(file) {
                let count = try file.connection.int("SELECT count(*) FROM \(SourceConnection.quoted(name))") ?? 0
                report.tables.append(TableMappingReport.Table(table: name, entity: nil, rows: Int(count)))
            }
        }
        return (plan, report)
    }

    /// Tables that become one entity, by keys that are identifiers, may have one in common.
    private func requireDifferentIdentifiers(_ rows: TableRows, _ report: inout TableMappingReport) throws {
        let sources = rows.plan.sources.filter { $0.identity != nil }
        for (index, entity) in rows.plan.schema.entities.enumerated() {
            let shared = sources.filter { $0.parts.contains { $0.entity == index } }
            guard shared.count > 1 else { continue }
            var known: Set<UUID> = []
            var found = TableMappingReport.Occurrences()
            for source in shared {
                var own: Set<UUID> = []
                try rows.forEachRow(source) { row in
                    guard source.parts(of: row).parts.contains(where: { $0.entity == index }),
                        let id = rows.plan.identifier(ofRow: row, source)
                    else { return }
                    if known.contains(id) { found.note(id.uuidString) }
                    own.insert(id)
                }
                known.formUnion(own)
            }
            guard found.count > 0 else { continue }
            let names = shared.map(\.table.name).joined(separator: " and ")
            report.findings.append(
                MappingFinding(message: "\(entity.name): \(found.words("identifier")) are in more than one of \(names)")
            )
        }
    }

    /// The tables that are left out whole.
    private func leftOutTables(_ file: TableFile) -> [String] {
        let used = tables.filter { $0.entity != nil }.flatMap { [$0.table] + $0.links.values.map(\.table) }
        let names = Set(used.map { $0.sqlName })
        return file.tables.map(\.name).filter { !names.contains($0.sqlName) }
    }
}

/// Reads a table's rows and counts what does not fit.
private struct TableRowCheck {
    private let rows: TableRows
    private let source: TablePlan.Source

    init(_ rows: TableRows, _ source: TablePlan.Source) { (self.rows, self.source) = (rows, source) }

    func run(_ report: inout TableMappingReport) throws {
        let name = source.table.name
        var tables = source.parts.map { part in
            let entity = rows.plan.schema.entities[part.entity]
            var table = TableMappingReport.Table(table: name, entity: entity.name)
            table.values = part.fields.enumerated().map { position, field in
                TableMappingReport.Values(
                    name: position == 0 ? "key" : entity.attributes[position].name,
                    source: words(field)
                )
            }
            return table
        }
        var leftOut = 0
        var (unmatched, ambiguous, keyless) = (
            TableMappingReport.Occurrences(), TableMappingReport.Occurrences(), TableMappingReport.Occurrences()
        )
        try rows.forEachRow(source) { row in
            let (parts, isLeftOut) = source.parts(of: row)
            func key() -> String { rows.key(row, source).map(\.summary).joined(separator: ", ") }
            guard parts.count + (isLeftOut ? 1 : 0) == 1 else {
                if parts.isEmpty { unmatched.note(key()) } else { ambiguous.note(key()) }
                return
            }
            guard let part = parts.first, let place = source.parts.firstIndex(where: { $0.index == part.index }) else {
                leftOut += 1
                return
            }
            tables[place].rows += 1
            guard let made = try rows.make(row, part, of: source) else { return keyless.note(key()) }
            for (position, value) in made.values.enumerated() {
                if case .date(let date) = value { tables[place].values[position].note(date) }
                if value.isNull {
                    tables[place].values[position].nulls += 1
                } else {
                    tables[place].values[position].values += 1
                }
            }
            for (position, problem, stored) in made.problems {
                // A person's texts do not belong in a report; what other values are says what is wrong with them.
                func keyed() -> String { "\(key()) (\(stored.kindSummary))" }
                switch problem {
                case .noForm, .missing: tables[place].values[position].misfits.note(keyed())
                case .rewritten: tables[place].values[position].rewritten.note(keyed())
                case .dangling: tables[place].values[position].dangling.note(keyed())
                }
            }
        }
        report.tables += tables
        if leftOut > 0 { report.tables.append(TableMappingReport.Table(table: name, entity: nil, rows: leftOut)) }
        func find(_ occurrences: TableMappingReport.Occurrences, _ what: String, isAboutValues: Bool = false) {
            guard occurrences.count > 0 else { return }
            var finding = MappingFinding(message: "\(name): \(occurrences.words("row")) \(what)")
            finding.isAboutValues = isAboutValues
            report.findings.append(finding)
        }
        find(
            unmatched,
            "fulfil the conditions of no mapping: leave them out by a mapping with \"entity\": null and their \"rows\""
        )
        find(ambiguous, "fulfil the conditions of more than one mapping")
        find(keyless, "have no key that can be an identifier", isAboutValues: true)
        for table in tables {
            for values in table.values {
                find(
                    values.misfits,
                    "have a value that is not \(values.source), for \(table.entity ?? "").\(values.name)",
                    isAboutValues: true
                )
                if let dates = values.dates,
                    !Self.plausible.contains(dates.lowerBound) || !Self.plausible.contains(dates.upperBound)
                {
                    report.notes.append(
                        "\(name): the dates of \(values.name) begin in \(dates.lowerBound.year) and end in \(dates.upperBound.year): is the form right?"
                    )
                }
                if values.dangling.count == values.values, values.values > 0 {
                    report.notes.append(
                        "\(name): no \(values.name) leads to a row that is there: is it mapped to the table that it refers to?"
                    )
                } else if values.dangling.count > 0 {
                    report.notes.append(
                        "\(name): \(values.dangling.words("row")) refer to a row that is not there, by \(values.name)"
                    )
                }
                if values.rewritten.count > 0 {
                    report.notes.append(
                        "\(name): \(values.rewritten.words("row")) have a value that would be written back in another way, of \(values.name)"
                    )
                }
            }
        }
        for links in source.linkTables {
            var count = 0
            try rows.forEachOwnerless(links, source) { _ in count += 1 }
            if count > 0 {
                report.notes.append(
                    "\(links.table): \(count) rows belong to no row of \(name): an import keeps them in a file next to the store"
                )
            }
            let repeated = try rows.countRepeated(links)
            if repeated > 0 {
                report.notes.append("\(links.table): \(repeated) rows repeat another one; a link is imported once")
            }
        }
        for column in source.table.columns where column.isGenerated && !source.columns.contains(column.name) {
            report.notes.append("\(name).\(column.name) is left alone: it is computed from other columns")
        }
        try requireDifferentKeys(&report)
        if !source.table.keepsKeys {
            report.notes.append("\(name): without AUTOINCREMENT, the key of a deleted row may be given to another one")
        }
    }

    /// The years in which apps' dates lie.
    private static let plausible =
        Date(timeIntervalSince1970: -2_208_988_800)...Date(timeIntervalSince1970: 4_102_444_800)

    /// A declared key may hold NULL more than once, and a UUID in two spellings.
    private func requireDifferentKeys(_ report: inout TableMappingReport) throws {
        try requireDifferent(source.key, isUUID: source.keyForm != nil, "key", &report)
        if let place = source.identity?.place, source.keyForm == nil {
            try requireDifferent([place], isUUID: true, "identifier", &report)
        }
    }

    private func requireDifferent(
        _ places: [Int],
        isUUID: Bool,
        _ what: String,
        _ report: inout TableMappingReport
    ) throws {
        let columns = places.map { SourceConnection.quoted(source.columns[$0]) }
        let isText = if isUUID, case .uuid? = source.identity?.form { true } else { false }
        let terms = columns.map { isText ? "replace(replace(replace(lower(\($0)), '-', ''), '{', ''), '}', '')" : $0 }
        let list = terms.joined(separator: ", ")
        let table = SourceConnection.quoted(source.table.name)
        let repeated = try rows.file.connection.prepare(
            "SELECT \(list), count(*) FROM \(table) WHERE \(columns.map { "\($0) NOT NULL" }.joined(separator: " AND ")) "
                + "GROUP BY \(list) HAVING count(*) > 1"
        )
        var found = TableMappingReport.Occurrences()
        while try repeated.step() {
            found.note(columns.indices.map { repeated.value($0).summary }.joined(separator: ", "))
        }
        guard found.count > 0 else { return }
        report.findings.append(
            MappingFinding(message: "\(source.table.name): \(found.words(what)) belong to more than one row")
        )
    }

    private func words(_ field: TablePlan.Field) -> String {
        switch field {
        case .missing: return "nothing"
        case .identifier(let place?):
            return "\(source.columns[place]), \(source.identity.map(\.form.name) ?? "")"
        case .identifier(nil):
            let columns = source.key.map { source.columns[$0] }.joined(separator: ", ")
            return source.keyForm.map { "\(columns), \($0.name)" } ?? columns
        case .constant(let value): return "always \(value)"
        case .column(let place, let form, _): return "\(source.columns[place]), \(form.name)"
        case .cases(let place, let cases, _):
            return "\(source.columns[place]), one of \(cases.keys.sorted().joined(separator: ", "))"
        case .reference(let places, let table):
            return "\(places.map { source.columns[$0] }.joined(separator: ", ")), a key of \(table)"
        case .links(let links): return "\(links.table), to \(links.leadsTo)"
        }
    }
}

extension TableMappingReport.Values {
    fileprivate mutating func note(_ date: Date) {
        let known = dates ?? date...date
        dates = min(known.lowerBound, date)...max(known.upperBound, date)
    }
}

extension Date {
    fileprivate var year: Int {
        Int(exactly: (timeIntervalSince1970 / 86_400).rounded(.down)).flatMap { CivilDay($0)?.year }
            ?? (self < .now ? .min : .max)
    }
}

extension TableMappingReport.Occurrences {
    /// `3 rows (1, 7, 8)`.
    func words(_ noun: String) -> String {
        let more = count > keys.count ? ", …" : ""
        return "\(count) \(noun)\(count == 1 ? "" : "s") (\(keys.joined(separator: "; "))\(more))"
    }
}
