import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// Builds the report of comparing two files that are not stores.
package struct FileReport {
    /// A value in a row.
    package struct Cell {
        let column: String
        /// Distinguishes it from every other value.
        let bytes: Data
        /// As the report shows it.
        let shown: String

        package init(column: String, bytes: Data, shown: String) {
            (self.column, self.bytes, self.shown) = (column, bytes, shown)
        }
    }

    package private(set) var report: VerificationReport
    private let options: VerificationOptions
    private let key: SymmetricKey?
    private let schema: Schema
    private let limit: TimeLimit
    private var rows: [String: MismatchEvidence] = [:]
    private var level = ""
    private var done = 0
    private var total = 1

    /// - Throws: ``HabitStoreError`` for an ignore rule about a table or column that neither file has.
    package init(_ names: (a: String, b: String), _ schema: Schema, _ options: VerificationOptions) throws {
        try options.ignoreRules.validate(for: schema)
        (self.schema, self.options, limit) = (schema, options, TimeLimit(options))
        key = options.showsValues ? nil : SymmetricKey(size: .bits256)
        func side(_ name: String) -> VerificationReport.Side {
            .init(name: name, information: StoreInformation(fileID: UUID()), counts: [:], isFile: true)
        }
        report = VerificationReport(verdict: .match, a: side(names.a), b: side(names.b))
        report.showsValues = options.showsValues
        report.ignoreRules = options.ignoreRules.rules.map { IgnoreRuleUse($0, now: options.now ?? Date()) }
    }

    /// Tells the number of rows of a table.
    package mutating func count(_ table: String, _ a: Int?, _ b: Int?) {
        report.a.counts[table] = a
        report.b.counts[table] = b
        total += max(a ?? 0, b ?? 0)
    }

    /// Adds a remark.
    package mutating func remark(_ text: String) { report.notes.append(text) }

    /// Adds a part that was not compared.
    package mutating func leaveOut(_ text: String) { report.notCompared.append(text) }

    /// Counts and lists a difference.
    ///
    /// - Parameter rows: the rows in which it was seen; asked only for a recording.
    package mutating func note(_ difference: StoreDifference, rows: () -> (a: [Cell]?, b: [Cell]?)? = { nil }) {
        guard let identifier = report.note(difference, limit: options.maximumDifferences), options.recorder != nil,
            let seen = rows()
        else { return }
        func record(_ cells: [Cell]?) -> RecordedRecord {
            RecordedRecord(
                attributes: cells?.map { cell in
                    RecordedAttribute(name: cell.column, bytes: cell.bytes, shown: cell.shown, key: key)
                }
            )
        }
        self.rows[identifier] = .records(a: record(seen.a), b: record(seen.b))
    }

    /// Counts compared rows.
    package mutating func advance(_ count: Int, _ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        done += count
        try tell(progress)
    }

    private func tell(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        try limit.check()
        try progress(.init(level: level, done: min(done, total), total: total))
    }

    /// Runs a part of the comparison.
    ///
    /// - Parameter body: gives how many things it compared.
    package mutating func run(
        _ name: String,
        unit: String,
        _ progress: (ShadowVerifier.Progress) throws -> Void,
        _ body: (inout FileReport) throws -> Int
    ) throws {
        level = name
        try tell(progress)
        let before = report.differenceCount
        let start = ContinuousClock.now
        let compared = try body(&self)
        report.levels.append(
            .init(
                name: name,
                compared: compared,
                unit: unit,
                differences: report.differenceCount - before,
                seconds: (ContinuousClock.now - start) / .seconds(1)
            )
        )
    }

    /// Runs the comparison, and draws the verdict also where an error or the time limit ends it.
    package mutating func conclude(_ body: (inout FileReport) throws -> Void) throws {
        do {
            try body(&self)
            report.conclude()
        } catch is TimeLimit.Reached {
            report.conclude(cutShort: .timedOut, at: level, reason: limit.reason)
        } catch let error as HabitStoreError where options.reportsErrors {
            report.failure = VerificationReport.Failure(error)
            report.conclude(cutShort: .error, at: level, reason: error.description)
        }
        guard let recorder = options.recorder else { return }
        recorder.begin(report, schema)
        for difference in report.differences {
            let evidence = rows[difference.differenceID] ?? .statement("only the files can be asked again")
            recorder.add(RecordedMismatch(difference: difference, evidence: evidence))
        }
    }
}
