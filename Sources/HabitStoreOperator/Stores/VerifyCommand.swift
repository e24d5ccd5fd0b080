import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreRollout
import ShadowVerifier

/// `habitstore verify`.
struct VerifyCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "compare",
            abstract: "Compares two stores: counts, relationships, contents, and the results of queries.",
            usage: """
                \(Tool.name) verify A B
                \(Tool.name) verify CORE-DATA-FILE STORE
                \(Tool.name) verify FILE FILE [--mapping JSON [--mapping JSON]]
                \(Tool.name) verify FILE STORE --mapping JSON
                \(Tool.name) verify --fixtures DIR
                \(Tool.name) verify --root ROOT --user USER
                """,
            discussion: """
                Two SQLite files of other programs are compared table by table, or, by a mapping for both or one for each, as \
                records: then dates in two forms are equal if they mean the same instant. Neither file is written to.
                --fixtures copies each store of a folder, copies that to a fresh store of the other engine, and \
                compares both with one another and with the expected results. --root and --user compare a user's two \
                stores.
                Exit codes: 0 identical, 1 different, 2 different only in what rules ignore, 64 wrong usage, 65 data \
                that cannot be read, 74 a file that cannot be reached, 75 the time limit came first.
                """
        )
    }

    /// The form of the command line.
    private enum Form {
        case stores(String, String)
        case fixtures(String)
        case user
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var comparison: ComparisonOptions

    @Argument(help: "Two stores, each \(Tool.storeForms), or a path; either may be another program's SQLite file.")
    var stores: [String] = []

    @Option(help: "A folder of fixtures.")
    var fixtures: String?

    @Option(help: "A file of queries to compare. [default with --fixtures: queries.json in the folder]")
    var queries: String?

    @Option(
        help: ArgumentHelp(
            "The mapping of a file's tables, or by which a Core Data file was imported; for two files, one for both or one each.",
            valueName: "json"
        )
    )
    var mapping: [String] = []

    @Option(
        help: ArgumentHelp(
            "With a Core Data file: how the names of the import's own files begin.",
            discussion: "The store's path, unless the records went into a user's store by a mapping.",
            valueName: "path"
        )
    )
    var notes: String?

    @Flag(help: "Show the values that differ, which may be personal.")
    var showValues = false

    @Flag(
        exclusivity: .exclusive,
        help: .init("How much is read: --quick trusts the stores' digests, --paranoid trusts nothing that is stored.")
    )
    var depth: VerificationDepth = .full

    @Option(
        help: ArgumentHelp(
            "Record progress in FILE, and continue from there after a kill.",
            valueName: "file"
        )
    )
    var checkpoint: String?

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        if case .fixtures = try form() {
            guard !comparison.isGiven, checkpoint == nil else {
                throw ValidationError(
                    "--ignore, --html, --record, --time-limit and --checkpoint are for two stores, not for --fixtures"
                )
            }
        }
        if checkpoint != nil, depth != .full {
            throw ValidationError("--checkpoint is for a full verification, without --quick or --paranoid")
        }
    }

    private func form() throws -> Form {
        switch (stores.count, fixtures, userOptions.isGiven) {
        case (2, nil, false): return .stores(stores[0], stores[1])
        case (0, let folder?, false): return .fixtures(folder)
        case (0, nil, true): return .user
        default:
            throw ValidationError("give two stores, or --fixtures DIR, or --root and --user, and only one of these")
        }
    }

    func run() async throws {
        switch try form() {
        case .stores(let first, let second):
            let (a, b) = (Self.withoutScheme(first), Self.withoutScheme(second))
            switch (SourceKind(path: a), SourceKind(path: b)) {
            case (.database, .database): return try compareFiles(a, b)
            case (.database, _): return try compare(a, with: b)
            case (_, .database): return try compare(b, with: a)
            default: break
            }
            guard mapping.isEmpty else { throw CommandFailure.usage("--mapping is for files of other programs") }
            let addresses = (try StoreAddress(argument: a), try StoreAddress(argument: b))
            try compare(addresses.0, named: a, addresses.1, named: b, by: .known)
        case .user:
            let settings = try await Settings(userOptions)
            let (current, other) = try settings.stores().addresses(of: settings.user)
            try compare(
                current,
                named: "\(current.engine.rawValue) (current)",
                other,
                named: "\(other.engine.rawValue) (other)",
                by: settings.engines
            )
        case .fixtures(let folder): try verifyFixtures(folder)
        }
    }

    /// The path of another program's file that is called `sqlite:PATH`; otherwise what was given.
    private static func withoutScheme(_ argument: String) -> String {
        guard argument.hasPrefix("sqlite:") else { return argument }
        let path = String(argument.dropFirst("sqlite:".count))
        return SourceKind(path: path) == .database ? path : argument
    }

    private func options() throws -> VerificationOptions {
        var options = VerificationOptions()
        options.showsValues = showValues
        options.depth = depth
        options.checkpointPath = checkpoint
        if let queries { options.queries = try QueryFile.load(path: queries).queries }
        try comparison.configure(&options)
        return options
    }

    /// Compares two files of other programs.
    private func compareFiles(_ a: String, _ b: String) throws {
        guard checkpoint == nil else { throw CommandFailure.usage("--checkpoint is for two stores") }
        guard mapping.count <= 2 else { throw CommandFailure.usage("for two files, --mapping is given once or twice") }
        guard queries == nil || !mapping.isEmpty else {
            throw CommandFailure.usage("queries name entities: say with --mapping which tables these are")
        }
        let options = try options()
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        var report: VerificationReport
        if let first = mapping.first, let last = mapping.last {
            var mappings = (try TableMapping(path: first), try TableMapping(path: last))
            // Identifiers are derived from it, and have to be the same on both sides.
            mappings.1.namespace = mappings.0.namespace
            let files = (try MappedFile(a, mappings.0), try MappedFile(b, mappings.1))
            report = try compare(files.0.side, files.1.side, options, bar)
            for file in [files.0, files.1] { file.tell(&report) }
        } else {
            report = try TableComparison(a, b, options: options).run { bar.show($0.level, $0.done, $0.total) }
        }
        report.noteIdentity(of: (a, a), (b, b))
        bar.clear()
        try show(report, options)
    }

    /// Compares a file of another program with a store.
    private func compare(_ source: String, with store: String) throws {
        guard checkpoint == nil else { throw CommandFailure.usage("--checkpoint is for two stores") }
        guard mapping.count <= 1 else { throw CommandFailure.usage("--mapping is given once for a file and a store") }
        // Report a problem with the store before one with the file.
        _ = try StoreAddress(argument: store).outline(by: .known)
        let file: CoreDataFile
        do {
            file = try CoreDataFile(path: source)
        } catch let error as HabitStoreError where error.code == .notAStore {
            return try compareTables(of: source, with: store, orSay: error)
        }
        defer { file.close() }
        try compare(file, named: source, with: store)
    }

    /// Compares the tables of a file with a store, by a mapping.
    ///
    /// - Parameter error: why it is not a Core Data file.
    private func compareTables(of source: String, with store: String, orSay error: HabitStoreError) throws {
        guard let mapping = mapping.first else {
            throw HabitStoreError(
                .notAStore,
                "\(error.message); to compare its tables with a store, say with --mapping what they become "
                    + "(`\(Tool.name) map suggest \(ShellWord.quoted(source))` writes one)",
                at: .init(path: source)
            )
        }
        let options = try options()
        let target = try StoreAddress(argument: store).open(.readOnly, schema: Tool.current.schema, by: .known)
        defer { target.close() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let file = try MappedFile(source, try TableMapping(path: mapping))
        var report = try compare(file.side, .init(name: store, store: target), options, bar)
        file.tell(&report)
        bar.clear()
        try show(report, options)
    }

    private func compare(
        _ a: ShadowVerifier.Side,
        _ b: ShadowVerifier.Side,
        _ options: VerificationOptions,
        _ bar: ProgressBar
    ) throws -> VerificationReport {
        try ShadowVerifier(a, b, options: options).run { bar.show($0.level, $0.done, $0.total) }
    }

    /// Compares a Core Data file with the store that was imported from it.
    private func compare(_ file: CoreDataFile, named source: String, with store: String) throws {
        let options = try options()
        let target = try StoreAddress(argument: store).openAsWritten(.readOnly, by: .known)
        defer { target.close() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let mapping = try mapping.first.map { try CoreDataMapping(path: $0) }
        // On disk, because a file may have more records than fit in memory.
        let scratch = try StoreAddress(argument: "sqlite:" + file.scratchPath("witness"))
        try fill(scratch, with: file, for: target, mapping)
        // Reopening frees the memory of writing.
        let witness = try scratch.open(.readOnly, schema: target.schema, by: .known)
        defer { witness.close() }
        var report = try compare(.init(name: source, store: witness), .init(name: store, store: target), options, bar)
        if report.failure == nil {
            try account(file, target, mapping).forEach { report.add($0) }
        }
        bar.clear()
        try show(report, options)
    }

    /// Creates the store that the target has to equal.
    private func fill(
        _ scratch: StoreAddress,
        with file: CoreDataFile,
        for target: any UserStoreBackend,
        _ mapping: CoreDataMapping?
    ) throws {
        let witness = try scratch.open(.create, schema: target.schema, by: .known)
        defer { witness.close() }
        if let mapping {
            try CoreDataWitness.fill(witness, with: file, mapping, for: target, notes: notes)
        } else {
            try CoreDataWitness.fill(witness, with: file, for: target)
        }
    }

    /// The parts of the file that are not accounted for, whatever the import's plan was.
    private func account(
        _ file: CoreDataFile,
        _ target: any UserStoreBackend,
        _ mapping: CoreDataMapping?
    ) throws -> [StoreDifference] {
        let account = try CoreDataAccount(of: file, in: target, notes: notes, mapping: mapping)
        var result = file.oddities.filter { CoreDataImportReport.Shortfall.kinds.contains($0.kind) }.map { oddity in
            StoreDifference(.damage, oddity.message, subject: oddity.kind)
        }
        result += account.unaccounted.map { item in
            StoreDifference(
                .missingInB,
                item.message,
                entity: item.table,
                attribute: item.column,
                subject: "unaccounted"
            )
        }
        return result
    }

    private func compare(
        _ a: StoreAddress,
        named nameA: String,
        _ b: StoreAddress,
        named nameB: String,
        by engines: Engines
    ) throws {
        let options = try options()
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let comparison = VersionComparison(
            engines,
            schema: Tool.current.schema,
            plan: Tool.current.plan,
            directory: FileManager.default.temporaryDirectory.path
        )
        var report = try comparison.run(a, b) { left, right in
            try compare(
                .init(name: Self.name(nameA, left), store: left.store),
                .init(name: Self.name(nameB, right), store: right.store),
                options,
                bar
            )
        }
        report.noteIdentity(of: (nameA, a.path), (nameB, b.path))
        bar.clear()
        try show(report, options)
    }

    private func show(_ report: VerificationReport, _ options: VerificationOptions) throws {
        // Show the report, which took long to make, even if a file cannot be written.
        let files = Result { try comparison.write(report, options.recorder) }
        try output.write(report) { VerificationText(report, options: Terminal.options()).text }
        try files.get()
        try ExitStatus.end(with: report)
    }

    private static func name(_ name: String, _ side: VersionComparison.Side) -> String {
        side.version.map { "\(name) (of schema version \($0), through the migration plan)" } ?? name
    }

    private func verifyFixtures(_ folder: String) throws {
        let verification = try FixtureVerification(
            Tool.current.engines,
            directory: folder,
            queriesPath: queries,
            showsValues: showValues
        )
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        var results: [FixtureVerification.Result] = []
        var seconds: [Double] = []
        for name in try verification.names() {
            let start = ContinuousClock.now
            let result = try verification.verify(name) { bar.show("\(name): \($0)", $1, $2) }
            bar.clear()
            results.append(result)
            seconds.append((ContinuousClock.now - start) / .seconds(1))
            if output.format == .text { try Output.write(FixtureText.line(result, seconds.last ?? 0)) }
        }
        let passed = results.allSatisfy(\.passed)
        try output.write(["formatVersion": 1, "passed": passed, "fixtures": results]) {
            FixtureText.summary(results, seconds, Terminal.options())
        }
        if !passed { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

extension VerificationReport {
    /// Adds a difference found outside the comparison of two stores.
    fileprivate mutating func add(_ difference: StoreDifference) {
        differences.append(difference)
        differenceCount += 1
        verdict = .mismatch
    }

    /// Says so if both names lead to one file.
    fileprivate mutating func noteIdentity(of a: (name: String, path: String), _ b: (name: String, path: String)) {
        guard let identity = Self.identity(a.path), identity == Self.identity(b.path) else { return }
        notes.append("\(a.name) and \(b.name) are the same file, which proves nothing about a copy")
    }

    /// The file at a path, whatever names and links lead to it; nil if that is unknown, and opening it says why.
    private static func identity(_ path: String) -> [NSNumber]? {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: target),
            let device = attributes[.systemNumber] as? NSNumber, let number = attributes[.systemFileNumber] as? NSNumber
        else { return nil }
        return [device, number]
    }
}

/// The records that a file's rows become by a mapping, in a store that is removed with it.
private final class MappedFile {
    private let path: String
    private let file: TableFile
    private let store: any UserStoreBackend
    private let report: TableImport.Report

    init(_ path: String, _ mapping: TableMapping) throws {
        self.path = path
        file = try TableFile(path: path)
        let schema = Tool.current.schema
        var options = TableImport.Options()
        options.allowsAside = true
        let work = try TableImport(file, mapping, schema: schema, options)
        let scratch = try StoreAddress(argument: "sqlite:" + file.scratchPath("records"))
        let filling = try scratch.open(.create, schema: schema, by: .known)
        do {
            report = try work.fill(filling, notes: scratch.path)
            filling.close()
        } catch {
            filling.close()
            throw error
        }
        // Reopening frees the memory of writing.
        store = try scratch.open(.readOnly, schema: schema, by: .known)
    }

    deinit { store.close() }

    var side: ShadowVerifier.Side { .init(name: path, store: store) }

    /// Adds what the records do not say: rows that became none are differences, everything else is not compared.
    func tell(_ report: inout VerificationReport) {
        for difference in self.report.differences {
            report.add(StoreDifference(.damage, "\(path): \(difference)", subject: "\(path) \(difference)"))
        }
        let check = "`\(Tool.name) map check \(ShellWord.quoted(path)) MAPPING`"
        if self.report.setAside > 0 {
            report.add(
                StoreDifference(
                    .damage,
                    "\(path): \(self.report.setAside.counted("row")) cannot be compared, because a value does not have its form; "
                        + "\(check) lists them",
                    subject: path
                )
            )
        }
        for table in self.report.leftOut {
            report.notCompared.append(
                "\(table.table) in \(path): \(table.rows.counted("row")) that the mapping leaves out"
            )
        }
        if self.report.keptLinks > 0 {
            report.notCompared.append("\(self.report.keptLinks.counted("link")) of no row in \(path)")
        }
        if self.report.keptOriginals > 0 {
            let records = self.report.keptOriginals.counted("record")
            report.notCompared.append(
                "how \(records) of \(path) are spelled where the schema cannot hold it; \(check) tells"
            )
        }
        report.notes += self.report.notes.map { "\(path): \($0)" }
    }
}

extension VerificationDepth: EnumerableFlag {
    /// `--quick`, `--full`, `--paranoid`.
    public static func name(for value: VerificationDepth) -> NameSpecification {
        switch value {
        case .keptDigests: .customLong("quick")
        case .full: .long
        case .paranoid: .long
        }
    }
}

/// `habitstore verify`: the comparison itself, and the commands for recorded mismatches.
struct VerificationCommand: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            abstract: "Compares two stores, and replays recorded mismatches.",
            usage: """
                \(Tool.name) verify A B
                \(Tool.name) verify --fixtures DIR
                \(Tool.name) verify --root ROOT --user USER
                \(Tool.name) verify list --from FILE
                \(Tool.name) verify replay ID --from FILE
                """,
            discussion: """
                Without a subcommand it compares; `\(Tool.name) help verify compare` lists the options. Write a store \
                whose path is the name of a subcommand with a folder, as ./replay.
                """,
            subcommands: [VerifyCommand.self, VerifyListCommand.self, VerifyReplayCommand.self],
            defaultSubcommand: VerifyCommand.self
        )
    }
}

/// The options of a comparison: what to ignore, a time limit, and files to write.
struct ComparisonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A JSON file of rules for differences to ignore.", valueName: "file"))
    var ignore: String?

    @Option(help: ArgumentHelp("Write the report as one HTML page.", valueName: "file"))
    var html: String?

    @Option(
        help: ArgumentHelp(
            "Record each listed difference, for `\(Tool.name) verify replay`; with --show-values also the values.",
            valueName: "file"
        )
    )
    var record: String?

    @Option(help: ArgumentHelp("End the comparison after this time.", valueName: "seconds"))
    var timeLimit: Double?

    /// Whether the command line has any of them.
    var isGiven: Bool { ignore != nil || html != nil || record != nil || timeLimit != nil }

    func validate() throws {
        guard let timeLimit else { return }
        guard timeLimit > 0, timeLimit.isFinite else {
            throw ValidationError("--time-limit is \(timeLimit); it must be more than 0 seconds")
        }
    }

    /// Applies them to the options of a comparison.
    func configure(_ options: inout VerificationOptions) throws {
        if let ignore { options.ignoreRules = try IgnoreRules.load(path: ignore) }
        if record != nil { options.recorder = MismatchRecorder() }
        options.timeLimitSeconds = timeLimit
        options.reportsErrors = true
    }

    /// Writes the files. A file with values is accessible to its owner only.
    func write(_ report: VerificationReport, _ recorder: MismatchRecorder?) throws {
        if let html {
            try OutputFile(path: html, beginning: VerificationPage.beginning)
                .write(VerificationPage(report).data)
        }
        if let record, let recording = recorder?.recording {
            try OutputFile(path: record, beginning: MismatchRecording.fileBeginning)
                .write(try recording.encoded())
        }
    }
}
