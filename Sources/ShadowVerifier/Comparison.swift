import Foundation
import HabitStore

/// One comparison under way: two transactions at one token, and the report that grows.
struct Comparison {
    let transactions: (a: any ReadTransaction, b: any ReadTransaction)
    let stores: (a: ShadowVerifier.Side, b: ShadowVerifier.Side)
    let schema: Schema
    let options: VerificationOptions
    var report: VerificationReport

    private var done = 0
    private var total = 1
    private var level = ""

    init(
        transactions: (a: any ReadTransaction, b: any ReadTransaction),
        stores: (a: ShadowVerifier.Side, b: ShadowVerifier.Side),
        schema: Schema,
        options: VerificationOptions,
        report: VerificationReport
    ) {
        self.transactions = transactions
        self.stores = stores
        self.schema = schema
        self.options = options
        self.report = report
    }

    mutating func run(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        let records = report.a.counts.values.reduce(0, +) + report.b.counts.values.reduce(0, +)
        total = max(1, 2 * records + options.queries.count)
        try run("store checks", unit: "records", progress) { try $0.compareChecks(progress) }
        try run("counts", unit: "entities", progress) { try $0.compareCounts() }
        try run("contents", unit: "records", progress) { try $0.compareContents(progress) }
        try run("relationships", unit: "links", progress) { try $0.compareRelationships() }
        if options.queries.isEmpty {
            report.notCompared.append("queries: no file of queries was given")
        } else {
            try run("queries", unit: "queries", progress) { try $0.compareQueries(progress) }
        }
        if report.differenceCount > 0 { report.verdict = .mismatch }
    }

    private mutating func run(
        _ name: String,
        unit: String,
        _ progress: (ShadowVerifier.Progress) throws -> Void,
        _ body: (inout Comparison) throws -> Int
    ) throws {
        level = name
        try tell(progress)
        let (start, before) = (ContinuousClock.now, report.differenceCount)
        let compared = try body(&self)
        report.levels.append(
            VerificationReport.Level(
                name: name,
                compared: compared,
                unit: unit,
                differences: report.differenceCount - before,
                seconds: (ContinuousClock.now - start) / .seconds(1)
            )
        )
    }

    private func tell(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        try progress(ShadowVerifier.Progress(level: level, done: min(done, total), total: total))
    }

    mutating func advance(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        done += 1
        if done % 2_048 == 0 { try tell(progress) }
    }

    mutating func note(_ difference: StoreDifference) {
        report.differenceCount += 1
        if report.differences.count < options.maximumDifferences { report.differences.append(difference) }
    }

    /// A value as the report may show it.
    func shown(_ value: Value) -> String {
        if options.showsValues { return value.description }
        switch value {
        case .null: return "nil"
        case .bool, .uuid, .links: return value.description
        case .int: return "an integer"
        case .double: return "a double"
        case .date: return "a date"
        case .string(let text): return "text of \(text.count) characters"
        case .data(let bytes): return "\(bytes.count) bytes"
        case .strings(let texts): return "\(texts.count) texts"
        }
    }

    // MARK: Counts

    private mutating func compareCounts() throws -> Int {
        for entity in schema.entities {
            let (left, right) = (report.a.counts[entity.name] ?? 0, report.b.counts[entity.name] ?? 0)
            if left != right {
                note(
                    StoreDifference(
                        .count,
                        "\(entity.name): \(left) records in \(stores.a.name), \(right) in \(stores.b.name)",
                        entity: entity.name,
                        a: String(left),
                        b: String(right)
                    )
                )
            } else if let expected = options.expectations?.counts[entity.name], expected != left {
                note(
                    StoreDifference(
                        .unexpected,
                        "\(entity.name): both stores have \(left) records, \(expected) are expected",
                        entity: entity.name
                    )
                )
            }
        }
        let token = report.a.information.token
        if let expected = options.expectations?.token, expected != token.rawValue {
            note(StoreDifference(.unexpected, "both stores are at token \(token), \(expected) is expected"))
        }
        return schema.entities.count
    }

    // MARK: Contents

    private mutating func compareContents(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        var compared = 0
        for entity in schema.entities {
            var left = RecordCursor(transactions.a, entity: entity.name)
            var right = RecordCursor(transactions.b, entity: entity.name)
            while true {
                let pair = (try left.peek(), try right.peek())
                compared += 1
                try advance(progress)
                switch pair {
                case (nil, nil):
                    compared -= 1
                case (let record?, nil):
                    note(missing(.missingInB, record, entity, in: stores.b.name))
                    left.advance()
                    continue
                case (nil, let record?):
                    note(missing(.missingInA, record, entity, in: stores.a.name))
                    right.advance()
                    continue
                case (let first?, let second?):
                    if first.id == second.id {
                        compare(first, second, entity)
                        left.advance()
                        right.advance()
                        try advance(progress)
                    } else if first.id.isBefore(second.id) {
                        note(missing(.missingInB, first, entity, in: stores.b.name))
                        left.advance()
                    } else {
                        note(missing(.missingInA, second, entity, in: stores.a.name))
                        right.advance()
                    }
                    continue
                }
                break
            }
        }
        return compared
    }

    private func missing(
        _ kind: StoreDifference.Kind,
        _ record: Record,
        _ entity: EntityDescription,
        in name: String
    ) -> StoreDifference {
        StoreDifference(
            kind,
            "\(entity.name) \(record.id.uuidString) is not in \(name)",
            entity: entity.name,
            id: record.id
        )
    }

    private mutating func compare(_ first: Record, _ second: Record, _ entity: EntityDescription) {
        for (position, attribute) in entity.attributes.enumerated()
        where !first.values[position].isIdentical(to: second.values[position]) {
            note(
                StoreDifference(
                    .attribute,
                    "\(entity.name) \(first.id.uuidString): \(attribute.name) differs",
                    entity: entity.name,
                    id: first.id,
                    attribute: attribute.name,
                    a: shown(first.values[position]),
                    b: shown(second.values[position])
                )
            )
        }
    }
}

extension Value {
    /// Whether both are the same to the last bit: stricter than equality, under which `0.0` equals `-0.0` and text in
    /// different Unicode forms is equal.
    func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.double(let a), .double(let b)): return a.bitPattern == b.bitPattern
        case (.date(let a), .date(let b)):
            return a.timeIntervalSinceReferenceDate.bitPattern == b.timeIntervalSinceReferenceDate.bitPattern
        case (.string(let a), .string(let b)): return a.utf8.elementsEqual(b.utf8)
        case (.strings(let a), .strings(let b)):
            return a.count == b.count && zip(a, b).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
        default: return self == other
        }
    }
}
