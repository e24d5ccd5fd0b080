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
            JSON files --mapping says which lists are habits and entries; --suggest-mapping prints one to edit.

            Repeated, it adds only what is new. What has no place in a store is counted by name, and kept in a file: \
            in the user's folder under imports/, or next to the store that --into names. Afterwards the store is \
            compared with the source by other code; exit code 1 if that finds a difference, if most of the source \
            became no record, or if the file shows a loss that --allow-loss does not name.
            """
    )

    @OptionGroup var trackerOptions: TrackerOptions
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
            "Print a mapping of the file's lists to habits, guessed from names and values, to edit; import nothing."
    )
    var suggestMapping = false

    @Option(help: "The store to import into: sqlite:PATH, lmdb:PATH, or a path. [default: the user's]")
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
        guard into == nil || !trackerOptions.user.isGiven else {
            throw ValidationError("--into names a store, and --root and --user another one; give one of them")
        }
    }

    func run() async throws {
        if suggestMapping { return try Output.write(try CoreDataMapping.suggested(forTablesAt: file).json()) }
        let settings = try await Settings(trackerOptions.user)
        var exported = InterchangeImport.Options()
        (exported.updates, exported.isEdited) = (update, edited)
        if from == nil, mapping == nil, let work = try InterchangeImport(path: file, exported) {
            return try show(try await report(work, settings))
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
            report = try await reportOfUser(work, settings)
        }
        let unaccepted = allowLoss.contains("all") ? [] : report.losses.filter { !allowLoss.contains($0.kind) }
        let text = TrackerReportText(report, isRehearsal: dryRun, unaccepted: unaccepted, allowsAside: allowAside)
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(text.text)
        }
        if !text.isVerified || !unaccepted.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func reportOfUser(_ work: TrackerImport, _ settings: Settings) async throws -> TrackerReport {
        let folder = try UserDirectory(root: settings.root, user: settings.user).path + "/imports"
        return try await Tracker.importing(trackerOptions, isDry: dryRun) { try report(work, $0, folder) }
    }

    // MARK: Exports of this program

    private func report(_ work: InterchangeImport, _ settings: Settings) async throws -> InterchangeReport {
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        guard let into else {
            try work.check()
            let folder = try UserDirectory(root: settings.root, user: settings.user).path + "/imports"
            return try await Tracker.importing(trackerOptions, isDry: dryRun) { store in
                guard !dryRun else { return try work.rehearse(into: store) }
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
            guard !dryRun else { return try work.rehearseFilling(try work.schema(preferring: HabitSchema.current)) }
            store = try address.openForImport(schema: try work.schema(preferring: HabitSchema.current))
        }
        defer { store.close() }
        let fills = try work.canFill(store)
        if dryRun { return fills ? try work.rehearseFilling(store.schema) : try work.rehearse(into: store) }
        if fills { return try work.fill(store) { bar.show("importing", $0, $1) } }
        return try work.run(into: store, attachmentsIn: address.path + ".imports") { bar.show("importing", $0, $1) }
    }

    private func show(_ report: InterchangeReport) throws {
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(InterchangeReportText(report, isRehearsal: dryRun).text)
        }
        if let differences = report.differences, differences > 0 { throw ExitCode(ExitStatus.different.rawValue) }
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
