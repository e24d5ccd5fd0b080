import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreOperator
import HabitStoreRollout
import HabitTracker
import HabitTrackerImport

/// `habitstore import FILE`.
struct ImportFileCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "file",
        abstract: "Imports the habits of another tracker, or an export of this program; its content says which.",
        discussion: """
            Loop Habit Tracker (database, CSV export as folder or zip), Tickmate, HabitBull (CSV), Beaver Habit Tracker (JSON), \
            harsh (text files), Table Habit (database, JSON); and what `habitstore export` writes. Of other databases, CSV and \
            JSON files --mapping says which lists are habits and entries; --suggest-mapping prints one, with questions \
            to answer before the import.

            Repeated, it adds only what is new. What has no place in a store is counted by name, and kept in a file: \
            in the user's folder under imports/, or next to the store that --into names. Afterwards the store is \
            compared with the source by other code; exit code 1 if that finds a difference, if most of the source \
            became no record, or if the file shows a loss that --allow-loss does not name.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The file, or the folder of an export.")
    var file: String

    @Option(help: ArgumentHelp("The format of the file. [default: recognised by its content]", valueName: "form"))
    var from: TrackerFormat?

    @Option(
        help: ArgumentHelp(
            "Of a database, CSV or JSON file of another app: which of its lists are habits.",
            valueName: "json"
        )
    )
    var mapping: String?

    @Flag(
        help:
            "Print a mapping of the file's lists to habits, with questions about what it is not sure of; import nothing."
    )
    var suggestMapping = false

    @Option(help: "The store to import into: \(Tool.storeForms), or a path. [default: the user's]")
    var into: String?

    @Option(help: ArgumentHelp("Tells sources of one kind apart, such as two people's phones.", valueName: "name"))
    var source = ""

    @Flag(help: "Overwrite what is different here.")
    var update = false

    @Flag(help: "Treat a habit that the source knows only by a number as the same, even if its name differs here.")
    var renamed = false

    @Flag(help: "Accept an edited export of this program, with another number of records than it states.")
    var edited = false

    @Flag(help: "Accept that most of the source, or of a habit, becomes no record.")
    var allowAside = false

    @Option(
        help: ArgumentHelp(
            "A loss to accept, so that it does not make the exit code 1; repeatable, or all.",
            discussion: "One of \(TrackerReport.Loss.kinds.joined(separator: ", ")).",
            valueName: "kind"
        )
    )
    var allowLoss: [String] = []

    @Flag(help: "Only report what would be done.")
    var dryRun = false

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard from != .table, mapping == nil || from == nil else {
            throw ValidationError("--mapping says what the file is; leave out --from")
        }
        guard !suggestMapping || (mapping == nil && into == nil && !dryRun) else {
            throw ValidationError("--suggest-mapping imports nothing; leave out --mapping, --into and --dry-run")
        }
        if let unknown = allowLoss.first(where: { $0 != "all" && !TrackerReport.Loss.kinds.contains($0) }) {
            throw ValidationError(
                "--allow-loss \(unknown): there is all, \(TrackerReport.Loss.kinds.joined(separator: ", "))"
            )
        }
        guard into == nil || !userOptions.isGiven else {
            throw ValidationError("--into names a store, and --root and --user another one; give one of them")
        }
    }

    func run() async throws {
        if suggestMapping { return try CoreDataMapping.suggested(forTablesAt: file).show() }
        let settings = try await Settings(userOptions)
        var exported = InterchangeImport.Options()
        (exported.updates, exported.isEdited) = (update, edited)
        if from == nil, mapping == nil, let work = try InterchangeImport(path: file, exported) {
            let run = InterchangeRun(work, isDry: dryRun, isQuiet: quiet)
            return try run.show(try run.report(into: into, settings, recording), output)
        }
        var options = TrackerImport.Options(timeZone: settings.timeZone)
        (options.format, options.name) = (from, source)
        (options.updates, options.allowsRenames) = (update, renamed)
        options.mapping = try mapping.map { try CoreDataMapping(path: $0) }
        // Reports errors in the file before creating a store.
        let work = try TrackerImport(path: file, options)
        let report: TrackerReport
        if let into {
            report = try work.report(into: try StoreAddress(destination: into), self)
        } else {
            report = try reportOfUser(work, settings)
        }
        let unaccepted = allowLoss.contains("all") ? [] : report.losses.filter { !allowLoss.contains($0.kind) }
        let text = TrackerReportText(report, isRehearsal: dryRun, unaccepted: unaccepted, allowsAside: allowAside)
        try output.write(report) { text.text }
        if !text.isVerified || !unaccepted.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func reportOfUser(_ work: TrackerImport, _ settings: Settings) throws -> TrackerReport {
        let folder = try UserDirectory(root: settings.root, user: settings.user).path + "/imports"
        return try UserSession.importing(settings, recording, isDry: dryRun) { try report(work, $0, folder) }
    }

    fileprivate func report(_ work: TrackerImport, _ store: any HabitStore, _ folder: String) throws -> TrackerReport {
        guard !dryRun else { return try work.rehearse(into: store) }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        return try work.run(into: store, attachmentsIn: folder) { bar.show("importing", $0, $1) }
    }
}

extension TrackerImport {
    fileprivate func report(into address: StoreAddress, _ command: ImportFileCommand) throws -> TrackerReport {
        if command.dryRun, !FileManager.default.fileExists(atPath: address.path) {
            try address.requireOutsideOfUsers()
            return try rehearse(into: try InMemoryHabitStore(schema: HabitSchema.current))
        }
        let store = try address.openForImport(schema: HabitSchema.current)
        defer { store.close() }
        return try command.report(self, store, address.path + ".imports")
    }
}

extension TrackerFormat: ExpressibleByArgument {}

/// The text output of a tracker import.
struct TrackerReportText {
    private let report: TrackerReport
    private let isRehearsal: Bool
    private let unaccepted: [TrackerReport.Loss]
    private let allowsAside: Bool

    /// - Parameters:
    ///   - unaccepted: the losses that result in exit code 1.
    ///   - allowsAside: whether it is acceptable that most of the source became no record.
    init(_ report: TrackerReport, isRehearsal: Bool, unaccepted: [TrackerReport.Loss], allowsAside: Bool) {
        self.report = report
        self.isRehearsal = isRehearsal
        self.unaccepted = unaccepted
        self.allowsAside = allowsAside
    }

    /// Whether the store equals the source, and most of the source is in the store.
    var isVerified: Bool {
        guard let verification = report.verification else { return true }
        return verification.isEqual && (allowsAside || verification.setAside.isEmpty)
    }

    var text: String {
        var lines = ["\(report.format.title)" + (isRehearsal ? ": what would be done" : "")]
        for row in report.rows { lines.append("  \(row.count) in \(TerminalText.escaped(row.name))") }
        lines += ["habits   " + words(report.habits), "entries  " + words(report.entries)]
        if report.tags.inSource > 0 { lines.append("tags     " + words(report.tags)) }
        section("odd in the source, copied unchanged:", report.oddities, &lines)
        section("kept next to the store, because the store has no place for it:", report.kept, &lines)
        if let attachment = report.attachment { lines.append("  in \(TerminalText.escaped(attachment))") }
        if let verification = report.verification { lines += words(verification) }
        lines += unaccepted.map { "LOSS \($0.kind): \(TerminalText.escaped($0.message))" }
        if !unaccepted.isEmpty { lines.append("exit code 1, unless --allow-loss names these") }
        return lines.joined(separator: "\n") + "\n"
    }

    private func words(_ verification: TrackerReport.Verification) -> [String] {
        let counted =
            "\(verification.habits.counted("habit")) with \(verification.entries.counted("entry", plural: "entries")), counted and "
            + "summed in the source by other code, \(isRehearsal ? "would be" : "are") here"
        if isVerified { return ["verified: " + counted] + verification.setAside.map { "  - allowed: \($0)" } }
        var lines: [String] = []
        let differs = isRehearsal ? "would differ" : "differs"
        if !verification.isEqual { lines.append("NOT VERIFIED: the store \(differs) from the source") }
        lines += verification.differences.map { "  - \($0)" }
        if verification.isEqual { lines.append("NOT VERIFIED: " + counted + ", but most is set aside") }
        lines += verification.setAside.map { "  - \($0)" }
        if !allowsAside, !verification.setAside.isEmpty { lines.append("exit code 1, unless --allow-aside is given") }
        return lines
    }

    /// The maximum number of findings listed per kind: a table may have hundreds of columns that the store cannot hold.
    private static let mostNamed = 20

    private func section(_ title: String, _ findings: [TrackerReport.Finding], _ lines: inout [String]) {
        guard !findings.isEmpty else { return }
        lines.append(title)
        let isLong = findings.count > Self.mostNamed + 1
        let (named, rest) =
            isLong ? (findings.prefix(Self.mostNamed), findings.dropFirst(Self.mostNamed)) : (findings[...], [])
        for finding in named { lines.append("  \(finding.count)  \(TerminalText.escaped(finding.name))") }
        guard !rest.isEmpty else { return }
        lines.append("  \(rest.reduce(0) { $0 + $1.count })  under \(rest.count) more names, which --format json lists")
    }

    private func words(_ count: TrackerReport.Count) -> String {
        var parts = ["\(count.inSource) in the source", "\(count.added) \(isRehearsal ? "would be " : "")added"]
        if count.known > 0 { parts.append("\(count.known) here already") }
        if count.differing > 0 { parts.append("\(count.differing) here and different") }
        return parts.joined(separator: ", ")
    }
}

/// `habitstore import preferences FILE --key KEY`.
struct ImportPreferencesCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "preferences",
        abstract: "Makes drafts of the texts in a preferences file, and empties their key.",
        discussion: """
            The file is a property list, binary or XML; every other key keeps its value and its type. A run that was \
            stopped is finished by the next one: no text is lost, and none becomes two drafts. Quit the app first: \
            otherwise it may write back the old list from memory.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The property list.")
    var file: String

    @Option(help: "The key of the texts in the outermost dictionary.")
    var key: String

    @Flag(help: "Only report what would be done.")
    var dryRun = false

    func run() async throws {
        // Reports errors in the file before creating a store.
        _ = try PreferencesImport.count(in: file, key: key)
        let folder = try await Self.folder(userOptions)
        let settings = try await Settings(userOptions)
        let outcome = try UserSession.importing(settings, recording, isDry: dryRun) { store in
            let work = PreferencesImport(path: file, key: key, into: store, journalsIn: folder)
            return try dryRun ? work.rehearse() : work.run()
        }
        try output.write([
            "file": file,
            "key": key,
            "made": outcome.made,
            "madeBefore": outcome.madeBefore,
            "normalized": outcome.normalized,
            "originals": outcome.originals,
            "emptied": outcome.isEmptied,
            "wasInterrupted": outcome.wasInterrupted,
            "dryRun": dryRun,
        ]) { text(outcome) }
    }

    /// The folder where imports into a user's store keep their files.
    static func folder(_ options: UserOptions) async throws -> String {
        let settings = try await Settings(options)
        return try UserDirectory(root: settings.root, user: settings.user).path + "/imports"
    }

    private func text(_ outcome: PreferencesImport.Outcome) -> String {
        var lines: [String] = []
        if outcome.wasInterrupted {
            lines.append("an earlier run was interrupted; it had made \(drafts(outcome.madeBefore))")
        }
        if outcome.made == 0, outcome.madeBefore == 0 {
            lines.append("the key \(key) is empty: nothing to do")
        } else if dryRun {
            lines.append("would make \(drafts(outcome.made)), and empty the key \(key)")
        } else {
            lines.append("made \(drafts(outcome.made)), and emptied the key \(key)")
        }
        if outcome.normalized > 0 {
            lines.append(
                "\(outcome.normalized.counted("text")) \(outcome.normalized == 1 ? "is" : "are") kept in Unicode's composed form (NFC)"
            )
        }
        if let originals = outcome.originals {
            lines.append(
                "NFC replaces characters of some texts; their originals are in \(TerminalText.escaped(originals))"
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func drafts(_ count: Int) -> String { count.counted("draft") }
}

/// `habitstore import`.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports data of other apps, and of earlier versions of an app.",
        subcommands: [ImportFileCommand.self, OperatorCommands.importCoreData, ImportPreferencesCommand.self],
        defaultSubcommand: ImportFileCommand.self
    )
}
