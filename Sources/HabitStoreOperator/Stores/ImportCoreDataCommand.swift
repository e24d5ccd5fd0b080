import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreRollout

/// `habitstore import coredata FILE`.
struct ImportCoreDataCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "coredata",
        abstract: "Imports a Core Data or SwiftData file into a store.",
        discussion: """
            The file is copied and never opened as a database; nothing about it changes. With --into the store gets a \
            schema derived from the file's model, and the file's history with its authors and times. With --mapping \
            the records go into the user's store, or with both into a store of the program's schema. Repeated, it applies what the \
            file's history has since, transaction by transaction; without a history every record is compared, and \
            records that are missing from the file are counted and left. What the store has no place for goes to a \
            file next to it, with one JSON object per line.
            Exit codes: 0 all of it was read, 1 the file shows a loss that --allow-loss does not name, 64 wrong \
            usage, 65 data that cannot be read, or older than what was imported, 74 a file that cannot be reached.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The file.")
    var file: String

    @Option(
        help: ArgumentHelp(
            "The store, created if it is missing: \(Tool.storeForms), or a path.",
            valueName: "store"
        )
    )
    var into: String?

    @Option(help: ArgumentHelp("How each entity and attribute maps to the schema.", valueName: "json"))
    var mapping: String?

    @Flag(help: "Print a mapping to the schema, with questions about what it is not sure of; import nothing.")
    var suggestMapping = false

    @Flag(help: "Keep applying what the file's app writes, until interrupted. Needs the file's persistent history.")
    var follow = false

    @Option(help: ArgumentHelp("How often --follow checks the file.", valueName: "seconds"))
    var every = 1.0

    @Flag(
        help: "Import a file that is older than the last import: this undoes later changes and deletions."
    )
    var allowOlder = false

    @Option(
        help: ArgumentHelp(
            "A loss to accept, so that it does not make the exit code 1; repeatable, or all.",
            discussion: "One of \(CoreDataImportReport.Shortfall.kinds.joined(separator: ", ")).",
            valueName: "kind"
        )
    )
    var allowLoss: [String] = []

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard every.isFinite, every > 0 else { throw ValidationError("--every is \(every); it must be more than 0") }
        if let unknown = allowLoss.first(where: { $0 != "all" && !CoreDataImportReport.Shortfall.kinds.contains($0) }) {
            throw ValidationError(
                "--allow-loss \(unknown): there is all, \(CoreDataImportReport.Shortfall.kinds.joined(separator: ", "))"
            )
        }
        if suggestMapping {
            guard into == nil, mapping == nil, !follow else {
                throw ValidationError("--suggest-mapping imports nothing; leave out --into, --mapping and --follow")
            }
        } else if into == nil, mapping == nil {
            throw ValidationError(
                "say where to: --into \(Tool.newStoreForms[0]) for a store of the file's own model, --mapping FILE for the user's store"
            )
        }
    }

    func run() async throws {
        if suggestMapping { return try suggest() }
        let mapping = try mapping.map { try CoreDataMapping(path: $0) }
        // A mapping with open questions makes no user.
        try mapping?.requireAnswers(at: self.mapping)
        let settings = into == nil ? try await Settings(userOptions) : nil
        let session = try settings.map {
            try UserSession.open($0, recording, isFollowing: follow, mayBegin: true)
        }
        defer { session?.close() }
        let mirror = CoreDataMirror(path: file, try update(mapping, settings, session))
        let bar = ProgressBar(isQuiet: quiet || output.format == .json)
        defer { bar.clear() }
        var options = CoreDataImporter.Options()
        options.requiresHistory = follow
        options.allowsOlder = allowOlder
        var waits = false
        var isLossy = false
        func step(_ word: String) throws {
            do {
                let report = try mirror.update(options) { bar.show(word, $0, $1) }
                waits = false
                bar.clear()
                if let report {
                    try show(report)
                    isLossy = !unaccepted(report).isEmpty || isLossy
                }
            } catch let error as HabitStoreError where error.code == .busy && follow {
                // The app will pause its writing sooner or later.
                bar.clear()
                if !waits { StandardError.note("\(error); trying again") }
                waits = true
            }
        }
        try step("importing")
        while follow {
            try await Task.sleep(for: .seconds(every))
            try step("following")
        }
        if isLossy { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func unaccepted(_ report: CoreDataImportReport) -> [CoreDataImportReport.Shortfall] {
        allowLoss.contains("all") ? [] : report.shortfalls.filter { !allowLoss.contains($0.kind) }
    }

    private func suggest() throws {
        let source = try CoreDataFile(path: file)
        defer { source.close() }
        try CoreDataMapping.suggested(for: source, to: Tool.current.schema).show()
    }

    // MARK: Targets

    /// The function that imports a state of the file into the target.
    private func update(
        _ mapping: CoreDataMapping?,
        _ settings: Settings?,
        _ session: UserSession?
    ) throws -> CoreDataMirror.Update {
        guard let mapping else {
            let address = try StoreAddress(destination: into ?? "")
            return CoreDataMirror.derived { try Self.open(address, for: $0) }
        }
        if let into {
            let address = try StoreAddress(destination: into)
            return { file, options, progress in
                if !FileManager.default.fileExists(atPath: address.path) {
                    try mapping.require(fits: file, schema: Tool.current.schema)
                }
                let store = try address.openForImport(schema: Tool.current.schema)
                defer { store.close() }
                return try CoreDataImporter(file, mapping, into: store, notesPath: address.path, options).run(
                    progress: progress
                )
            }
        }
        guard let settings, let session else { throw CommandFailure.usage("name a store or a user to import into") }
        return try usersUpdate(mapping, settings, session.store)
    }

    /// Imports into the user's own store, which stays open while the file is followed.
    private func usersUpdate(_ mapping: CoreDataMapping, _ settings: Settings, _ store: UserStore) throws
        -> CoreDataMirror.Update
    {
        let folder = try UserDirectory(root: settings.root, user: settings.user).path + "/imports"
        return { file, options, progress in
            try PrivateFolder.make(
                folder,
                or: .permissionDenied,
                "the folder for the import's notes cannot be created; check the permissions of the user's folder"
            )
            let notes = folder + "/coredata-" + file.metadata.storeID.lowercased().filter { $0.isHexDigit || $0 == "-" }
            return try CoreDataImporter(file, mapping, into: store, notesPath: notes, options).run(
                progress: progress
            )
        }
    }

    private static func open(_ address: StoreAddress, for source: CoreDataFile) throws -> any UserStoreBackend {
        // A user's store would fail the check below too, but with a misleading error.
        try address.requireOutsideOfUsers()
        var outline: StoreOutline?
        do {
            outline = try address.outline(by: .known)
        } catch let error as HabitStoreError where [.notFound, .notAStore].contains(error.code) {
            // There is no store yet, or its creation was interrupted. Opening refuses any other file.
        }
        return try address.openForImport(schema: CoreDataTarget.schema(for: source, outline: outline))
    }

    private func show(_ report: CoreDataImportReport) throws {
        try output.write(report) { ImportText(report, unaccepted: unaccepted(report)).text(Terminal.options()) }
    }
}

extension CoreDataMapping {
    /// Prints a suggested mapping, and notes its open questions.
    package func show() throws {
        try Output.write(try json())
        for question in openQuestions { StandardError.note("open question: \(question)") }
    }
}

/// The text output of a Core Data import.
struct ImportText {
    private let report: CoreDataImportReport
    private let unaccepted: [CoreDataImportReport.Shortfall]

    init(_ report: CoreDataImportReport, unaccepted: [CoreDataImportReport.Shortfall]) {
        self.report = report
        self.unaccepted = unaccepted
    }

    func text(_ options: TerminalOptions) -> String {
        var text = summary + "\n"
        var table = TextTable([
            .init("entity", canShrink: false), .init("becomes"), .init("records", alignment: .right),
            .init("new", alignment: .right), .init("changed", alignment: .right), .init("refused", alignment: .right),
        ])
        for entity in report.entities where report.mode != .followed || entity.inserted + entity.updated > 0 {
            table.append([
                entity.source, entity.target ?? "not brought over", String(entity.records), String(entity.inserted),
                String(entity.updated), String(entity.refused),
            ])
        }
        if report.mode != .followed || report.entities.contains(where: { $0.inserted + $0.updated > 0 }) {
            text += table.text(options)
        }
        for line in remarks { text += "- \(TerminalText.escaped(line))\n" }
        for shortfall in unaccepted { text += "LOSS \(shortfall.kind): \(TerminalText.escaped(shortfall.message))\n" }
        if !unaccepted.isEmpty { text += "exit code 1, unless --allow-loss names these\n" }
        return text
    }

    private var summary: String {
        let inserted = report.entities.reduce(0) { $0 + $1.inserted }
        let updated = report.entities.reduce(0) { $0 + $1.updated }
        switch report.mode {
        case .first:
            return
                "imported \(inserted.counted("record")) and \(report.transactions.counted("transaction")) of the file's history"
        case .followed:
            if report.transactions == 0 { return "nothing to do: the store has all of the file's history" }
            return
                "followed \(report.transactions.counted("transaction")): \(inserted.counted("record")) new, \(updated) changed, "
                + "\(report.deleted) deleted"
        case .compared:
            return inserted + updated == 0
                ? "nothing to do: no record of the file has changed"
                : "compared every record: \(inserted) new, \(updated) changed"
        }
    }

    private var remarks: [String] {
        var lines: [String] = []
        if report.mode == .first, report.transactions > 0 {
            lines.append(
                "\(report.changes) changes were carried with their authors and times, \(report.tombstones) of them deletions"
            )
        }
        if report.gone > 0 {
            lines.append(
                "\(report.gone) records are no longer in the file; nothing proves that they were deleted, so they were left"
            )
        }
        if report.normalizedTexts > 0 {
            lines.append("\(report.normalizedTexts) texts were in another Unicode form, and are in NFC now")
        }
        if report.replacedTexts > 0 {
            let texts =
                report.replacedTexts == 1
                ? "a text; its original is" : "\(report.replacedTexts) texts; their originals are"
            lines.append("NFC replaces characters of \(texts) in the attachment")
        }
        lines += remarks(report.losses) { "\($0.count) of \($1) not in the store: \($0.reason)" }
        lines += remarks(report.odd) { "\($0.count) of \($1) imported as stored: \($0.reason)" }
        for item in report.notCarried where !item.isUnknown {
            let name = [item.table, item.column].compactMap { $0 }.joined(separator: ".")
            lines.append("\(item.count) of \(name) not carried: \(item.reason)")
        }
        if let path = report.attachment { lines.append("what is not in the store is in \(path)") }
        if report.mode != .followed {
            lines += report.oddities.filter { odd in
                !unaccepted.contains { $0.kind == odd.kind && $0.message == odd.message }
            }.map(\.message)
        }
        return lines
    }

    /// The maximum number of properties listed: an entity may have hundreds.
    private static let mostNamed = 20

    private func remarks(
        _ losses: [CoreDataImportReport.Loss],
        _ words: (CoreDataImportReport.Loss, String) -> String
    ) -> [String] {
        let isLong = losses.count > Self.mostNamed + 1
        var lines = losses.prefix(isLong ? Self.mostNamed : losses.count).map { loss in
            words(loss, [loss.entity, loss.property].compactMap { $0 }.joined(separator: "."))
        }
        let rest = losses.dropFirst(lines.count)
        if !rest.isEmpty {
            let count = rest.reduce(0) { $0 + $1.count }
            lines.append("\(count) of \(rest.count) more properties, which --format json lists")
        }
        return lines
    }
}
