import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Lets each store check itself: damage is a difference, oddities of the data are gathered as anomalies.
    ///
    /// - Returns: the number of records checked.
    mutating func compareChecks(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        let left = try stores.a.store.check { _ in try progress(.init(level: "store checks", done: 0, total: 1)) }
        let right = try stores.b.store.check { _ in try progress(.init(level: "store checks", done: 0, total: 1)) }
        for (findings, name, letter) in [(left, stores.a.name, "A"), (right, stores.b.name, "B")] {
            for finding in findings where finding.severity == .damage {
                note(
                    StoreDifference(
                        .damage,
                        "\(name): \(finding.message)",
                        entity: finding.entity,
                        id: finding.id,
                        attribute: finding.attribute,
                        subject: "\(letter): \(finding.kind)"
                    )
                )
            }
        }
        gather(left.filter { $0.severity != .damage }, right.filter { $0.severity != .damage })
        noteUnreadable(left, right)
        compareWithExpectedAnomalies(left.filter { $0.severity == .anomaly })
        return [report.a, report.b].flatMap(\.counts.values).reduce(0, &+)
    }

    /// Records that no fetch can read may be the same in both stores; a match of them proves nothing for a program that cannot read them.
    private mutating func noteUnreadable(_ left: [StoreFinding], _ right: [StoreFinding]) {
        for (findings, name) in [(left, stores.a.name), (right, stores.b.name)] {
            let unreadable = findings.filter { $0.severity == .unreadable }
            guard let first = unreadable.first, report.failure == nil else { continue }
            let error = HabitStoreError(
                .unreadableValue,
                first.message,
                at: .init(entity: first.entity, attribute: first.attribute, id: first.id)
            )
            report.failure = VerificationReport.Failure(error)
            report.reason =
                "\(unreadable.count == 1 ? "a record" : "\(unreadable.count) records") of \(name) cannot be read by this version's models; "
                + "verify with the version of the app that wrote what they hold"
        }
    }

    private struct AnomalyKey: Hashable {
        let kind: String
        let entity: String?
        let attribute: String?
        let presence: StoreAnomaly.Presence
    }

    private struct Occurrence: Hashable {
        let kind: String
        let entity: String?
        let attribute: String?
        let id: UUID?
    }

    private mutating func gather(_ left: [StoreFinding], _ right: [StoreFinding]) {
        let sides = (Set(left.map(occurrence)), Set(right.map(occurrence)))
        var groups: [AnomalyKey: [UUID?]] = [:]
        for item in sides.0.union(sides.1) {
            let presence: StoreAnomaly.Presence =
                sides.0.contains(item) ? (sides.1.contains(item) ? .both : .onlyA) : .onlyB
            let key = AnomalyKey(kind: item.kind, entity: item.entity, attribute: item.attribute, presence: presence)
            groups[key, default: []].append(item.id)
        }
        report.anomalies = groups.map { key, ids in
            StoreAnomaly(
                kind: key.kind,
                entity: key.entity,
                attribute: key.attribute,
                presence: key.presence,
                count: ids.count,
                example: ids.compactMap { $0 }.min { $0.isBefore($1) }
            )
        }
        .sorted { ($0.kind, $0.entity ?? "", $0.attribute ?? "") < ($1.kind, $1.entity ?? "", $1.attribute ?? "") }
    }

    private func occurrence(_ finding: StoreFinding) -> Occurrence {
        Occurrence(kind: finding.kind, entity: finding.entity, attribute: finding.attribute, id: finding.id)
    }

    private mutating func compareWithExpectedAnomalies(_ findings: [StoreFinding]) {
        guard let expected = options.expectations?.anomalies else { return }
        var found: [String: Int] = [:]
        for item in Set(findings.map(occurrence)) { found[item.kind, default: 0] += 1 }
        for kind in Set(found.keys).union(expected.keys).sorted() where found[kind] ?? 0 != expected[kind] ?? 0 {
            note(
                StoreDifference(
                    .unexpected,
                    "\(stores.a.name) shows the anomaly \(kind) \(found[kind] ?? 0) times, "
                        + "\(expected[kind] ?? 0) are expected",
                    subject: kind
                )
            )
        }
    }
}
