import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreRollout

/// `habitstore export PATH`.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract:
            "Writes all records for other programs, so that the command `import` reads them back to the last bit.",
        discussion: """
            csv: a folder with a file for each entity (RFC 4180) and a manifest. json: one document. Each date is \
            written twice: in words, and as exact seconds since 2001; to edit one, change the words. The history is \
            not exported.

            Without --store the user's current store is exported; it is opened read-only, and never switched.
            """
    )

    @OptionGroup var userOptions: UserOptions

    @Argument(help: "The file to create, or for csv the folder.")
    var path: String

    @Option(help: "The format of the export.")
    var format: InterchangeFormat

    @Option(help: "The store: \(Tool.storeForms), or a path. [default: the user's]")
    var store: String?

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard store == nil || !userOptions.isGiven else {
            throw ValidationError("--store names a store, and --root and --user another one; give one of them")
        }
    }

    func run() async throws {
        let store = try await open()
        defer { store.close() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let counts = try InterchangeExport(store, as: format).write(to: path) { bar.show("exporting", $0, $1) }
        bar.clear()
        let words = counts.map { "\($0.count) \($0.entity)" }.joined(separator: ", ")
        try Output.write("exported \(words)\n")
    }

    private func open() async throws -> any UserStoreBackend {
        if let store { return try StoreAddress(argument: store).openAsWritten(.readOnly, by: .known) }
        let settings = try await Settings(userOptions)
        let address = try settings.stores().currentAddress(of: settings.user)
        return try address.openAsWritten(.readOnly, by: settings.engines)
    }
}

extension InterchangeFormat: ExpressibleByArgument {}

/// `habitstore import FILE`, for apps without files of other apps to read.
struct ImportExportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "file",
        abstract: "Imports what the command `export` writes.",
        discussion: """
            Repeated, it adds only what is new. Afterwards the export is read again and compared with the store; exit code 1 if \
            that finds a difference.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The file, or the folder of an export.")
    var file: String

    @Option(help: "The store to import into: \(Tool.storeForms), or a path. [default: the user's]")
    var into: String?

    @Flag(help: "Overwrite what is different here.")
    var update = false

    @Flag(help: "Accept an edited export, with another number of records than it states.")
    var edited = false

    @Flag(help: "Only report what would be done.")
    var dryRun = false

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard into == nil || !userOptions.isGiven else {
            throw ValidationError("--into names a store, and --root and --user another one; give one of them")
        }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        var options = InterchangeImport.Options()
        (options.updates, options.isEdited) = (update, edited)
        guard let work = try InterchangeImport(path: file, options) else {
            throw HabitStoreError(
                .notAStore,
                "this is not an export of this program; `\(Tool.name) map suggest \(ShellWord.quoted(file))` begins with the tables of a "
                    + "SQLite file, `\(Tool.name) inspect \(ShellWord.quoted(file))` shows a Core Data file",
                at: .init(path: file)
            )
        }
        let run = InterchangeRun(work, isDry: dryRun, isQuiet: quiet)
        try run.show(try run.report(into: into, settings, recording), output)
    }
}

/// `habitstore import`, for apps without files of other apps to read.
struct ImportGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports exports of this program, and Core Data and SwiftData files.",
        subcommands: [ImportExportCommand.self, ImportCoreDataCommand.self],
        defaultSubcommand: ImportExportCommand.self
    )
}

/// An import of an export of this program.
package struct InterchangeRun {
    private let work: InterchangeImport
    private let isDry: Bool
    private let isQuiet: Bool

    /// - Parameters:
    ///   - isDry: whether it only reports what would be done.
    ///   - isQuiet: whether it shows no progress.
    package init(_ work: InterchangeImport, isDry: Bool, isQuiet: Bool) {
        (self.work, self.isDry, self.isQuiet) = (work, isDry, isQuiet)
    }

    /// Imports into a store, or for nil into the user's.
    package func report(into: String?, _ settings: Settings, _ recording: RecordingOptions) throws -> InterchangeReport
    {
        let bar = ProgressBar(isQuiet: isQuiet)
        defer { bar.clear() }
        guard let into else {
            try work.check()
            let folder = try UserDirectory(root: settings.root, user: settings.user).path + "/imports"
            return try UserSession.importing(settings, recording, isDry: isDry) { store in
                guard !isDry else { return try work.rehearse(into: store) }
                return try work.run(into: store, attachmentsIn: folder) { bar.show("importing", $0, $1) }
            }
        }
        let address = try StoreAddress(destination: into)
        let store: any UserStoreBackend
        if FileManager.default.fileExists(atPath: address.path) {
            store = try address.openForImport(schema: nil)
        } else {
            try address.requireOutsideOfUsers()
            try work.check()
            let schema = try work.schema(preferring: Tool.current.schema)
            guard !isDry else { return try work.rehearseFilling(schema) }
            store = try address.openForImport(schema: schema)
        }
        defer { store.close() }
        let fills = try work.canFill(store)
        if isDry { return fills ? try work.rehearseFilling(store.schema) : try work.rehearse(into: store) }
        if fills { return try work.fill(store) { bar.show("importing", $0, $1) } }
        return try work.run(into: store, attachmentsIn: address.path + ".imports") { bar.show("importing", $0, $1) }
    }

    /// Writes a report, and ends with exit code 1 if it has differences.
    package func show(_ report: InterchangeReport, _ output: OutputOptions) throws {
        try output.write(report) { InterchangeReportText(report, isRehearsal: isDry).text }
        if let differences = report.differences, differences > 0 { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// The text output of importing an export.
struct InterchangeReportText {
    private let report: InterchangeReport
    private let isRehearsal: Bool

    init(_ report: InterchangeReport, isRehearsal: Bool) {
        self.report = report
        self.isRehearsal = isRehearsal
    }

    var text: String {
        var lines = [
            "an export of this program, \(report.format.rawValue)" + (isRehearsal ? ": what would be done" : "")
        ]
        for entity in report.entities {
            var parts = ["\(entity.inSource) in the export", "\(entity.added) \(isRehearsal ? "would be " : "")added"]
            if entity.known > 0 { parts.append("\(entity.known) here already") }
            if entity.differing > 0 { parts.append("\(entity.differing) here and different") }
            lines.append("  \(TerminalText.escaped(entity.entity)): " + parts.joined(separator: ", "))
        }
        if report.cut > 0 {
            lines.append("\(report.cut) references lead nowhere, and \(isRehearsal ? "would be" : "were") cut")
            if let attachment = report.attachment { lines.append("  kept in \(TerminalText.escaped(attachment))") }
        }
        switch report.differences {
        case nil: break
        case 0: lines.append("verified: read back, every record of the export is here, unchanged")
        case let count?: lines.append("NOT VERIFIED: \(count) records of the export are missing or different here")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
