import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreRollout
import JSONText

/// `habitstore map`.
struct MapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "map",
        abstract: "Maps the tables of another program's SQLite file to this schema, and imports or adopts them.",
        subcommands: [
            MapSuggestCommand.self, MapCheckCommand.self, MapImportCommand.self, MapVerifyCommand.self,
            MapAdoptCommand.self, MapUnadoptCommand.self, MapStatusCommand.self,
        ]
    )
}

/// `habitstore map suggest FILE`.
struct MapSuggestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suggest",
        abstract: "Prints a mapping of a file's tables, with a reason for each choice.",
        discussion: """
            It states only what names, declared keys and values leave no doubt about. Everything else is an open question: \
            edit the mapping, and delete the question. `map check` says what is still missing.
            """
    )

    @Argument(help: "The SQLite file.")
    var file: String

    func run() async throws {
        let mapping = try TableMapping.suggested(for: try TableFile(path: file), schema: Tool.current.schema)
        try Output.write(try mapping.json())
        let questions = mapping.tables.flatMap { table in table.questions.map { "\(table.table): \($0)" } }
        for question in questions { StandardError.note(question) }
        if !questions.isEmpty {
            StandardError.note(
                "\(questions.count.counted("open question")); nothing is imported before they are deleted from the mapping"
            )
        }
    }
}

/// `habitstore map check FILE MAPPING`.
struct MapCheckCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Judges a mapping by the whole file; writes nothing.",
        discussion: """
            Each table and column is mapped, left out by name, or neither, which is a finding; so is a value that does not have \
            the form that the mapping states. Exit code 1 if there are findings.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The SQLite file.")
    var file: String

    @Argument(help: "The mapping, a JSON file.")
    var mapping: String

    func run() async throws {
        let mapping = try TableMapping(path: mapping)
        let report = try mapping.check(try TableFile(path: file), schema: Tool.current.schema)
        try output.write(report) { text(report) }
        if !report.isClean { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func text(_ report: TableMappingReport) -> String {
        var lines: [String] = []
        for table in report.tables {
            let rows = table.rows.counted("row")
            let word = table.rows == 1 ? "becomes" : "become"
            lines.append("\(table.table): \(rows) \(table.entity.map { "\(word) \($0)" } ?? "left out")")
            for values in table.values where values.source != "nothing" {
                let nulls = values.nulls > 0 ? ", \(values.nulls) without" : ""
                let dates = values.dates.map { ", \(day($0.lowerBound)) to \(day($0.upperBound))" } ?? ""
                lines.append(
                    "  \(values.name) from \(values.source): \(values.values.counted("value"))\(nulls)\(dates)"
                )
            }
        }
        for (name, reason) in report.leftAlone.sorted(by: { $0.key < $1.key }) {
            lines.append("\(name): left alone, \(reason)")
        }
        lines += report.notes.map { "note: \($0)" }
        for finding in report.findings {
            let place = finding.line.flatMap { line in finding.column.map { "\(mapping):\(line):\($0): " } } ?? ""
            lines.append("FINDING \(place)\(finding.message)")
        }
        lines.append(
            report.isClean
                ? "clean: `\(Tool.name) map import \(ShellWord.quoted(file)) \(ShellWord.quoted(mapping)) --into \(Tool.newStoreForms[0])` imports it"
                : "\(report.findings.count.counted("finding")); nothing is imported"
        )
        return lines.map { TerminalText.escaped($0) }.joined(separator: "\n") + "\n"
    }
}

/// The day of an instant, in UTC.
private func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }

/// `habitstore map import FILE MAPPING --into STORE`.
struct MapImportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports a file's tables into a store, by a mapping.",
        discussion: """
            The file is not changed. Other code reads it once more and compares before the records take effect; an import that \
            was killed continues. Exit code 1 if it finds a difference, or most rows were set aside.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The SQLite file.")
    var file: String

    @Argument(help: "The mapping, a JSON file.")
    var mapping: String

    @Option(help: "The store to fill: \(Tool.newStoreForms.joined(separator: ", ")), or a path.")
    var into: String

    @Flag(help: "Set rows aside whose values do not have their form, in a file next to the store.")
    var allowAside = false

    @Flag(help: "Add the rows to a store that has records already, which stay as they are.")
    var merge = false

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let schema = Tool.current.schema
        var options = TableImport.Options()
        options.allowsAside = allowAside
        let work = try TableImport(try TableFile(path: file), try TableMapping(path: mapping), schema: schema, options)
        let address = try StoreAddress(destination: into)
        let store = try address.openForImport(schema: schema)
        defer { store.close() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let report =
            try merge
            ? work.merge(into: store, notes: address.path)
            : work.fill(store, notes: address.path, progress: { bar.show("importing", $0, $1) })
        bar.clear()
        try output.write(report) { text(report) }
        if !report.isVerified || report.isMostlySetAside { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func text(_ report: TableImport.Report) -> String {
        var lines = report.entities.map {
            "\($0.table): \($0.records) of \($0.rows.counted("row")) \(report.merged == nil ? "became" : "can be") \($0.entity)"
        }
        if let merged = report.merged {
            let parts = [
                (merged.inserted, "new"), (merged.unchanged, "in the store already"),
                (merged.matched, "the store's by their natural keys"),
                (merged.differing, "with other values in the store, which stay"),
                (merged.deleted, "deleted in the store, and not brought back"),
                (merged.refused, "refused by the store's rules"),
            ]
            lines.append(
                "merged: "
                    + parts.filter { $0.0 > 0 || $0.1 == "new" }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
            )
        }
        lines += report.leftOut.map { "\($0.table): \($0.rows.counted("row")) left out" }
        lines += report.notes.map { "note: \($0)" }
        if let attachment = report.attachment {
            let kept = [
                (report.setAside, "row", "set aside"), (report.keptOriginals, "row", "with original values"),
                (report.keptLinks, "link", "of no row"), (report.merged?.differing ?? 0, "row", "with other values"),
                (report.merged?.refused ?? 0, "row", "refused"),
            ]
            let words = kept.filter { $0.0 > 0 }.map { "\($0.0.counted($0.1)) \($0.2)" }
            lines.append(
                "not in the store, but in \(attachment): \(words.isEmpty ? "what earlier imports kept" : words.joined(separator: ", "))"
            )
        }
        if let keys = report.keys { lines.append("the keys that identifiers were made from: \(keys)") }
        if report.isVerified, report.isMostlySetAside {
            lines.append("NOT VERIFIED: what is in the store is right, but most rows were set aside")
        } else {
            lines += report.verdict(
                ifDifferent: merge
                    ? "nothing was merged; report this with the mapping" : "remove it, and report this with the mapping"
            )
        }
        return lines.map { TerminalText.escaped($0) }.joined(separator: "\n") + "\n"
    }
}

extension TableImport.Report {
    /// Whether the store says what the file says, in lines.
    fileprivate func verdict(ifDifferent advice: String) -> [String] {
        guard !isVerified else {
            return [
                "verified: read again by other code, \(comparedValues.counted("value")) of the file are in the store"
            ]
        }
        return ["NOT VERIFIED: the store differs from the file; \(advice)"] + differences.map { "  - \($0)" }
    }
}

/// `habitstore map verify FILE MAPPING STORE`.
struct MapVerifyCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compares a store with a file's tables, by a mapping; writes nothing.",
        discussion: """
            Every row that the mapping means has a record with its values, links and references, and the store has no others. \
            Exit code 1 if it finds a difference.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The SQLite file.")
    var file: String

    @Argument(help: "The mapping, a JSON file.")
    var mapping: String

    @Argument(help: "The store: \(Tool.storeForms), or a path.")
    var store: String

    func run() async throws {
        let schema = Tool.current.schema
        var options = TableImport.Options()
        options.allowsAside = true
        let work = try TableImport(try TableFile(path: file), try TableMapping(path: mapping), schema: schema, options)
        let store = try StoreAddress(argument: store).open(.readOnly, schema: schema, by: .known)
        defer { store.close() }
        let report = try work.verify(store)
        try output.write(report) {
            report.verdict(ifDifferent: "rows that were set aside are among them")
                .map { TerminalText.escaped($0) + "\n" }.joined()
        }
        if !report.isVerified { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
