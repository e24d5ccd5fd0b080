import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import ShadowVerifier

/// Verifies every store in a folder of fixtures.
///
/// A fixture `NAME.ENGINE`, such as `tidy.sqlite`, with `NAME.expected.json` next to it is copied, migrated if it has an older schema version, and
/// backfilled into a new store of the other engine. Both are compared with each other and with the expected results. A `NAME.pair.json` names two
/// stores and exactly the differences that have to be found between them. The folder itself is only read.
struct FixtureVerification {
    /// The result for one fixture.
    struct Result: Sendable, Codable {
        var name: String
        /// The fixture's description, for people.
        var description: String
        /// Whether all checks passed.
        var passed: Bool
        /// The failed checks, in sentences without users' values.
        var problems: [String]
        var report: VerificationReport
    }

    private let engines: Engines
    private let schema = Tool.current.schema
    private let directory: URL
    private let queries: [QueryFile.Query]
    private let showsValues: Bool

    /// Prepares the verification of a folder.
    ///
    /// - Parameters:
    ///   - engines: the engines of the fixtures; each fixture is copied to the first other one.
    ///   - queriesPath: the file of queries; nil for `queries.json` in the folder.
    /// - Throws: ``HabitStoreError/Code/notFound`` if the folder or the file of queries does not exist.
    init(_ engines: Engines, directory: String, queriesPath: String? = nil, showsValues: Bool = false) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory) else {
            throw HabitStoreError(.notFound, "there is no folder of fixtures here", at: .init(path: directory))
        }
        guard isDirectory.boolValue else {
            throw HabitStoreError(
                .notAStore,
                "this is a file; a folder of fixtures is expected",
                at: .init(path: directory)
            )
        }
        self.engines = engines
        self.directory = URL(fileURLWithPath: directory, isDirectory: true)
        queries = try QueryFile.load(path: queriesPath ?? self.directory.appendingPathComponent("queries.json").path)
            .queries
        self.showsValues = showsValues
    }

    /// The names of the fixtures, in order; the file name if both engines have a fixture of that name.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is none, or a store has no expectations next to it.
    func names() throws -> [String] {
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        let described = files.compactMap { file in
            [".expected.json", ".pair.json"].first { file.hasSuffix($0) }.map { String(file.dropLast($0.count)) }
        }
        let pairs = try files.filter { $0.hasSuffix(".pair.json") }.flatMap { file in
            let pair = try PairExpectation.load(path: directory.appendingPathComponent(file).path)
            return [pair.a, pair.b]
        }
        let endings = engines.names.map(\.rawValue)
        for file in files where endings.contains((file as NSString).pathExtension) {
            let name = (file as NSString).deletingPathExtension
            guard described.contains(name) || pairs.contains(file) else {
                throw HabitStoreError(
                    .notFound,
                    "there is no \(name).expected.json next to the fixture, so the expected results are unknown",
                    at: .init(path: directory.appendingPathComponent(file).path)
                )
            }
        }
        guard !described.isEmpty else {
            throw HabitStoreError(.notFound, "there are no fixtures in this folder", at: .init(path: directory.path))
        }
        return described.flatMap { name -> [String] in
            let both = endings.map { "\(name).\($0)" }.filter(files.contains)
            return both.count > 1 && !files.contains("\(name).pair.json") ? both : [name]
        }
    }

    /// Verifies one fixture.
    ///
    /// - Parameter progress: receives the current step and its progress.
    func verify(_ name: String, progress: (String, Int, Int) throws -> Void = { _, _, _ in }) throws -> Result {
        let aside = FileManager.default.temporaryDirectory.appendingPathComponent("\(Tool.name)-\(UUID().uuidString)")
        try PrivateFolder.make(
            aside.path,
            isNew: true,
            or: .inputOutput,
            "the folder for copies cannot be created; check the permissions and the space of the temporary folder"
        )
        defer { try? FileManager.default.removeItem(at: aside) }
        let pairPath = directory.appendingPathComponent("\(name).pair.json").path
        if FileManager.default.fileExists(atPath: pairPath) {
            return try verifyPair(name, try PairExpectation.load(path: pairPath), aside, progress)
        }
        return try verifyStore(name, aside, progress)
    }

    private func verifyStore(
        _ name: String,
        _ aside: URL,
        _ progress: (String, Int, Int) throws -> Void
    ) throws -> Result {
        let named = engines.names.first { name.hasSuffix(".\($0.rawValue)") }
        let base = named.map { String(name.dropLast($0.rawValue.count + 1)) } ?? name
        let expectations = try Expectations.load(
            path: directory.appendingPathComponent("\(base).expected.json").path
        )
        guard
            let engine = (named.map { [$0] } ?? engines.names).first(where: { engine in
                FileManager.default.fileExists(
                    atPath: directory.appendingPathComponent("\(base).\(engine.rawValue)").path
                )
            })
        else {
            throw HabitStoreError(.notFound, "there are expected results but no store", at: .init(path: name))
        }
        let address = try copy("\(base).\(engine.rawValue)", to: aside)
        if let plan = Tool.current.plan {
            _ = try StoreMigrator(address, engines: engines, plan: plan)
                .run { try progress("migrating to \($0.to)", $0.done, $0.total) }
        }
        let source = try engines.open(address, .readWrite, schema: schema)
        defer { source.close() }
        let other = engines.pair(old: engine).new
        let copy = StoreAddress(other, path: aside.appendingPathComponent("copy.\(other.rawValue)").path)
        let target = try engines.open(copy, .create, schema: schema)
        defer { target.close() }
        _ = try Backfill(from: source, to: target).run { try progress("copying", $0.done, $0.total) }
        let report = try verifier(name, source, engine, target, other, expectations).run {
            try progress($0.level, $0.done, $0.total)
        }
        var problems = report.differences.map(\.message)
        if let reason = report.reason { problems.append(reason) }
        return Result(
            name: name,
            description: expectations.description,
            passed: report.verdict == .match,
            problems: problems,
            report: report
        )
    }

    private func verifyPair(
        _ name: String,
        _ pair: PairExpectation,
        _ aside: URL,
        _ progress: (String, Int, Int) throws -> Void
    ) throws -> Result {
        let addresses = (try copy(pair.a, to: aside), try copy(pair.b, to: aside))
        let left = try engines.open(addresses.0, .readWrite, schema: schema)
        defer { left.close() }
        let right = try engines.open(addresses.1, .readWrite, schema: schema)
        defer { right.close() }
        let report = try verifier(name, left, addresses.0.engine, right, addresses.1.engine, nil).run {
            try progress($0.level, $0.done, $0.total)
        }
        let found = Set(report.differences.map { PairExpectation.Difference($0) })
        let expected = Set(pair.differences)
        var problems = expected.subtracting(found).map { "not found: \($0.words)" }.sorted()
        problems += found.subtracting(expected).map { "found but not expected: \($0.words)" }.sorted()
        if let reason = report.reason { problems.append(reason) }
        return Result(
            name: name,
            description: pair.description,
            passed: problems.isEmpty,
            problems: problems,
            report: report
        )
    }

    private func verifier(
        _ name: String,
        _ left: any UserStoreBackend,
        _ leftEngine: EngineName,
        _ right: any UserStoreBackend,
        _ rightEngine: EngineName,
        _ expectations: Expectations?
    ) -> ShadowVerifier {
        var options = VerificationOptions()
        options.queries = queries
        options.expectations = expectations
        options.showsValues = showsValues
        return ShadowVerifier(
            .init(name: "\(name) (\(leftEngine.rawValue))", store: left),
            .init(name: "\(name) (\(rightEngine.rawValue))", store: right),
            options: options
        )
    }

    /// Copies a store with all its files.
    private func copy(_ file: String, to aside: URL) throws -> StoreAddress {
        let source = try engines.address(parsing: directory.appendingPathComponent(file).path)
        let target = StoreAddress(source.engine, path: aside.appendingPathComponent(file).path)
        try engines.provider(source.engine).copy(source.path, to: target.path)
        return target
    }
}

extension PairExpectation.Difference {
    /// The difference in words, without users' values.
    fileprivate var words: String {
        if let query { return "query \"\(query)\"" }
        return [kind?.rawValue, entity, attribute, id?.uuidString].compactMap { $0 }.joined(separator: " ")
    }
}

/// The verification of a folder of fixtures as text.
enum FixtureText {
    private static let listedProblems = 5

    /// A fixture's line, followed by its problems.
    static func line(_ result: FixtureVerification.Result, _ seconds: Double) -> String {
        let mark = result.passed ? "pass" : "FAIL"
        var text = "\(mark)  \(TerminalText.escaped(result.name)): \(TerminalText.escaped(result.description))"
        text += " (\(seconds.secondsText))\n"
        for problem in result.problems.prefix(listedProblems) where !result.passed {
            text += "      \(TerminalText.escaped(problem))\n"
        }
        if !result.passed, result.problems.count > listedProblems {
            text += "      and \(result.problems.count - listedProblems) more; --format json lists all\n"
        }
        return text
    }

    /// The table of all fixtures, and whether all passed.
    static func summary(
        _ results: [FixtureVerification.Result],
        _ seconds: [Double],
        _ options: TerminalOptions
    ) -> String {
        var table = TextTable([
            .init("fixture"), .init("result", canShrink: false), .init("records", alignment: .right),
            .init("links", alignment: .right), .init("queries", alignment: .right),
            .init("differences", alignment: .right), .init("anomalies", alignment: .right),
            .init("time", alignment: .right),
        ])
        for (result, seconds) in zip(results, seconds) {
            let report = result.report
            table.append([
                result.name,
                result.passed ? "pass" : "FAIL",
                String(report.a.counts.values.reduce(0, +)),
                String(report.levels.first { $0.name == "relationships" }?.compared ?? 0),
                String(report.queries.count),
                String(report.differenceCount),
                String(report.anomalies.reduce(0) { $0 + $1.count }),
                seconds.secondsText,
            ])
        }
        let failed = results.count { !$0.passed }
        let last =
            failed == 0
            ? "all \(results.count) fixtures passed\n" : "\(failed) of \(results.count) fixtures FAILED\n"
        return "\n" + table.text(options) + "\n" + last
    }
}
