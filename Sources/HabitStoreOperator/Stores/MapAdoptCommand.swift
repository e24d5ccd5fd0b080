import ArgumentParser
import Foundation
import HabitStore
import HabitStoreImport
import HabitStoreMapped

/// `habitstore map adopt FILE MAPPING`.
struct MapAdoptCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Makes an app's own SQLite file a store, in place.",
        discussion: """
            The mapping is checked against the whole file first, as by `map check`. Then tables and triggers whose names begin \
            with habitstore_ are put next to the app's tables, which stay as they are; other programs may write to them. \
            `map unadopt` removes everything again.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The SQLite file.")
    var file: String

    @Argument(help: "The mapping, a JSON file.")
    var mapping: String

    func run() async throws {
        let report = try MappedSQLiteStore.adopt(
            file,
            mapping: try TableMapping(path: mapping),
            schema: Tool.current.schema
        )
        try output.write(report) {
            var lines = report.tables.map { table in
                let word = table.rows == 1 ? "is" : "are"
                return
                    "\(table.table): \(table.rows.counted("row")) \(table.entity.map { "\(word) \($0)" } ?? "left out")"
            }
            lines += report.leftAlone.sorted { $0.key < $1.key }.map { "\($0.key): left alone, \($0.value)" }
            lines += report.notes.map { "note: \($0)" }
            lines.append("adopted: `\(Tool.name) map unadopt \(ShellWord.quoted(file))` makes it the app's alone again")
            return lines.map { TerminalText.escaped($0) }.joined(separator: "\n") + "\n"
        }
    }
}

/// `habitstore map unadopt FILE`.
struct MapUnadoptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unadopt",
        abstract: "Removes the store's tables and triggers from an app's SQLite file.",
        discussion: """
            The app's tables stay as they are. The history is lost, and with it the identifiers of records whose keys are not \
            identifiers themselves. A file whose records are in the user's other store by now is refused.
            """
    )

    @Argument(help: "The SQLite file.")
    var file: String

    @Flag(help: "Unadopt the file although another store has newer records, which the app then lacks.")
    var allowOutdated = false

    func run() async throws {
        try MappedSQLiteStore.unadopt(file, allowsOutdated: allowOutdated)
        try Output.write(
            """
            unadopted \(TerminalText.escaped(file))
            if its user was in a rollout, remove the user's folder, too: it knows of a store that is no more

            """
        )
    }
}
