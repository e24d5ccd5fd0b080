import Foundation
import HabitStore

/// A recorded difference, looked for again in what it was seen in.
public struct MismatchReplay: Sendable, Codable {
    /// What both stores had of one thing.
    public struct Row: Sendable, Codable, Hashable {
        /// The attribute, or what else it is.
        public var name: String
        /// In the first column, as the recorded report shows it; nil when there is nothing.
        public var a: String?
        /// In the second column.
        public var b: String?
        /// Whether both are the same to the last bit.
        public var isEqual: Bool
        /// Whether the difference is about this.
        public var isMarked: Bool
    }

    /// The difference that was recorded.
    public var recorded: StoreDifference
    /// The difference that the replay found; nil if the recording does not show it.
    public var finding: StoreDifference?
    /// The stores, as the comparison named them.
    public var names: [String]
    /// The tokens at which they were compared.
    public var tokens: [HistoryToken]
    /// The shape of each entity then.
    public var shapes: [String: String]
    /// The titles of the two sides of ``rows``: the two stores, or two lists that have to be the same.
    public var columns = ["A", "B"]
    /// Both sides of it.
    public var rows: [Row]
    /// The query, where it is the difference of one; its filter only where values are kept.
    public var query: QueryFile.Query?
    /// Why it cannot be found again, or what else there is to know.
    public var note: String?
}

extension MismatchRecording {
    /// How many identifiers a replay shows to both sides of the place at which two lists differ.
    private static let shownAround = 3

    /// Looks for a recorded difference again, by the rules of the comparison and without the stores.
    ///
    /// - Returns: nil when nothing of this identifier is recorded.
    /// - Throws: ``HabitStoreError/Code/corrupt`` when what it was seen in shows another difference than the recorded one.
    public func replay(_ identifier: String) throws -> MismatchReplay? {
        guard let mismatch = mismatches.first(where: { $0.difference.differenceID == identifier }) else { return nil }
        var replay = MismatchReplay(
            recorded: mismatch.difference,
            finding: nil,
            names: [a.name, b.name],
            tokens: [a.information.token, b.information.token],
            shapes: shapes,
            rows: [],
            note: nil
        )
        switch mismatch.evidence {
        case .records(let a, let b): try compare(a, b, &replay)
        case .answers(let query, let a, let b): try compare(query, a, b, &replay)
        case .counts(let a, let b):
            let row = MismatchReplay.Row(
                name: "records",
                a: String(a),
                b: String(b),
                isEqual: a == b,
                isMarked: true
            )
            replay.rows = [row]
            try found(a != b, &replay)
        case .identifiers(let left, let right):
            replay.columns = [left.caption, right.caption]
            replay.rows = rows(left.identifiers, right.identifiers, "record")
            if left.identifiers == right.identifiers {
                replay.note = "both lists were the same when they were recorded: the store answered otherwise before"
            } else {
                replay.finding = mismatch.difference
            }
        case .statement(let reason):
            replay.finding = mismatch.difference
            replay.note = "taken from the recording as it stands: \(reason)"
        }
        return replay
    }

    /// The recorded difference must hold, or the file contradicts itself.
    private func found(_ differs: Bool, _ replay: inout MismatchReplay) throws {
        guard differs else { throw Self.damaged("nothing differs in what a difference was seen in") }
        replay.finding = replay.recorded
    }

    // MARK: Records

    private func compare(_ a: RecordedRecord, _ b: RecordedRecord, _ replay: inout MismatchReplay) throws {
        let recorded = replay.recorded
        for (record, name) in [(a, self.a.name), (b, self.b.name)] {
            guard let code = record.errorCode else { continue }
            replay.finding = recorded
            replay.note = "taken from the recording as it stands: \(name) could not show the record (\(code))"
            return
        }
        replay.rows = try rows(a, b, marked: recorded.kind == .attribute ? recorded.attribute : nil)
        switch (a.attributes, b.attributes) {
        case (nil, nil): throw Self.damaged("no store has the record")
        case (nil, _): try found(recorded.kind == .missingInA, &replay)
        case (_, nil): try found(recorded.kind == .missingInB, &replay)
        case (_?, _?):
            if replay.rows.contains(where: { $0.isMarked && !$0.isEqual }) {
                replay.finding = recorded
            } else {
                replay.note =
                    "both stores' files had the same record when it was recorded: the query answered otherwise"
            }
        }
    }

    private func rows(_ a: RecordedRecord, _ b: RecordedRecord, marked: String?) throws -> [MismatchReplay.Row] {
        if let left = a.attributes, let right = b.attributes, left.map(\.name) != right.map(\.name) {
            throw Self.damaged("the two records have different attributes")
        }
        let count = max(a.attributes?.count ?? 0, b.attributes?.count ?? 0)
        return try (0..<count).map { position in
            let (left, right) = (a.attributes?[position], b.attributes?[position])
            guard let name = left?.name ?? right?.name else { throw Self.damaged("an attribute has no name") }
            var isEqual = false
            if let left, let right { isEqual = left.isIdentical(to: right) }
            return MismatchReplay.Row(
                name: name,
                a: left?.shown,
                b: right?.shown,
                isEqual: isEqual,
                isMarked: marked.map { $0 == name } ?? true
            )
        }
    }

    // MARK: Queries

    private func compare(
        _ query: RecordedQuery,
        _ a: QueryAnswer,
        _ b: QueryAnswer,
        _ replay: inout MismatchReplay
    ) throws {
        let recorded = replay.recorded
        let again = QueryAnswer.differences(
            a,
            b,
            query: query.name,
            entity: query.entity,
            names: (self.a.name, self.b.name)
        )
        guard var finding = again.first(where: { $0.kind == recorded.kind }), finding.message == recorded.message else {
            throw Self.damaged("the recorded answers do not differ in this way")
        }
        finding.differenceID = recorded.differenceID
        finding.ignoredBy = recorded.ignoredBy
        replay.finding = finding
        replay.query = query.query
        replay.rows = [
            row("outcome", a.errorCode ?? "an answer", b.errorCode ?? "an answer", recorded.kind == .queryError),
            row("records", String(a.identifiers.count), String(b.identifiers.count), recorded.kind != .queryError),
            row("count", String(a.count), String(b.count), recorded.kind == .queryCount),
        ]
        if recorded.kind == .queryRecords || recorded.kind == .queryOrder {
            replay.rows += rows(a.identifiers, b.identifiers, "position")
        }
    }

    private func row(_ name: String, _ a: String, _ b: String, _ isMarked: Bool) -> MismatchReplay.Row {
        MismatchReplay.Row(name: name, a: a, b: b, isEqual: a == b, isMarked: isMarked)
    }

    /// Two lists around the place where they begin to differ.
    private func rows(_ a: [UUID], _ b: [UUID], _ caption: String) -> [MismatchReplay.Row] {
        guard let place = QueryAnswer.firstDifference(a, b) else { return [] }
        let range = max(0, place - Self.shownAround)..<min(max(a.count, b.count), place + Self.shownAround + 1)
        return range.map { position in
            let (left, right) = (
                position < a.count ? a[position].uuidString : nil, position < b.count ? b[position].uuidString : nil
            )
            return MismatchReplay.Row(
                name: "\(caption) \(position + 1)",
                a: left,
                b: right,
                isEqual: left == right,
                isMarked: position == place
            )
        }
    }
}
