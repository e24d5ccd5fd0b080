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
                \(Tool.name) verify --fixtures DIR
                \(Tool.name) verify --root ROOT --user USER
                """,
            discussion: """
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

    @Argument(help: "Two stores, each sqlite:PATH, lmdb:PATH, or a path; one of them may be a Core Data file.")
    var stores: [String] = []

    @Option(help: "A folder of fixtures.")
    var fixtures: String?

    @Option(help: "A file of queries to compare. [default with --fixtures: queries.json in the folder]")
    var queries: String?

    @Option(help: ArgumentHelp("With a Core Data file: the mapping by which it was imported.", valueName: "json"))
    var mapping: String?

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
        case .stores(let a, let b):
            if let source = [a, b].first(where: { SourceKind(path: $0) == .database }) {
                return try compare(source, with: source == a ? b : a)
            }
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

    private func options() throws -> VerificationOptions {
        var options = VerificationOptions()
        options.showsValues = showValues
        options.depth = depth
        options.checkpointPath = checkpoint
        if let queries { options.queries = try QueryFile.load(path: queries).queries }
        try comparison.configure(&options)
        return options
    }

    /// Compares a Core Data file with the store that was imported from it.
    private func compare(_ source: String, with store: String) throws {
        guard checkpoint == nil else { throw CommandFailure.usage("--checkpoint is for two stores") }
        let options = try options()
        let file = try CoreDataFile(path: source)
        defer { file.close() }
        let target = try StoreAddress(argument: store).openAsWritten(.readOnly, by: .known)
        defer { target.close() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let mapping = try mapping.map { try CoreDataMapping(path: $0) }
        // On disk, because a file may have more records than fit in memory.
        let scratch = try StoreAddress(argument: "sqlite:" + file.scratchPath("witness"))
        try fill(scratch, with: file, for: target, mapping)
        // Reopening frees the memory of writing.
        let witness = try scratch.open(.readOnly, schema: target.schema, by: .known)
        defer { witness.close() }
        let verifier = ShadowVerifier(
            .init(name: source, store: witness),
            .init(name: store, store: target),
            options: options
        )
        var report = try verifier.run { bar.show($0.level, $0.done, $0.total) }
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
            let verifier = ShadowVerifier(
                .init(name: Self.name(nameA, left), store: left.store),
                .init(name: Self.name(nameB, right), store: right.store),
                options: options
            )
            return try verifier.run { bar.show($0.level, $0.done, $0.total) }
        }
        if let identity = Self.identity(a.path), identity == Self.identity(b.path) {
            report.notes.append("\(nameA) and \(nameB) are the same file, which proves nothing about a copy")
        }
        bar.clear()
        try show(report, options)
    }

    /// The file at a path, whatever names and links lead to it; nil if that is unknown, and opening it says why.
    private static func identity(_ path: String) -> [NSNumber]? {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: target),
            let device = attributes[.systemNumber] as? NSNumber, let number = attributes[.systemFileNumber] as? NSNumber
        else { return nil }
        return [device, number]
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
