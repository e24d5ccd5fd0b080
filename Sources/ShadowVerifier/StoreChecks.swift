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

extension Comparison {
    /// Holds what each store's own transactions read against what its file holds: a mistake in how rows become records
    /// is made alike by whatever carried the records across.
    ///
    /// - Returns: the number of records compared.
    mutating func compareOwnReading(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        var compared = 0
        for (transaction, store) in [(transactions.a, (stores.a.name, "A")), (transactions.b, (stores.b.name, "B"))] {
            guard let audited = transaction as? any AuditableTransaction else {
                report.notCompared.append("own reading: \(store.0) has no reader other than its own")
                continue
            }
            for (position, entity) in schema.entities.enumerated() {
                let own = OwnReading(transaction, entity: entity.name, in: .all)
                let file = try audited.auditCursor(entity: position, in: .all)
                compared += try compare(own, file, entity, store)
                try tell(progress)
            }
        }
        return compared
    }

    private mutating func compare(
        _ own: OwnReading,
        _ file: any AuditCursor,
        _ entity: EntityDescription,
        _ store: (name: String, letter: String)
    ) throws -> Int {
        var compared = 0
        while try file.next() {
            compared += 1
            guard try own.next(), own.identifier == file.identifier else {
                note(
                    StoreDifference(
                        .reading,
                        "\(store.name): a transaction does not find \(entity.name) \(file.identifier.uuidString) in its place, "
                            + "which is in the file",
                        entity: entity.name,
                        id: file.identifier,
                        subject: store.letter
                    )
                )
                return compared
            }
            guard !own.canonical.elementsEqual(file.canonical) else { continue }
            var readers = (CanonicalReader(own.canonical), CanonicalReader(file.canonical))
            for attribute in entity.attributes {
                guard let first = try readers.0.next(), let second = try readers.1.next(),
                    !first.isIdentical(to: second)
                else { continue }
                note(
                    StoreDifference(
                        .reading,
                        "\(store.name): a transaction reads \(attribute.name) of \(entity.name) \(file.identifier.uuidString) "
                            + "otherwise than the file has it",
                        entity: entity.name,
                        id: file.identifier,
                        attribute: attribute.name,
                        subject: store.letter
                    )
                )
            }
        }
        if try own.next() {
            note(
                StoreDifference(
                    .reading,
                    "\(store.name): a transaction finds \(entity.name) \(own.identifier.uuidString), which is not in the file",
                    entity: entity.name,
                    id: own.identifier,
                    subject: store.letter
                )
            )
        }
        return compared
    }
}

/// Goes through an entity's records as the store's own transactions read them, a chunk at a time.
///
/// For stores that cannot be audited, and to hold what a store's readers say against what its file holds.
final class OwnReading: AuditCursor {
    private static let chunk = 2_000

    private let transaction: any ReadTransaction
    private let entity: String
    private let range: IdentifierRange
    private let form = CanonicalForm()
    private var buffer: [Record] = []
    private var position = -1
    private var isExhausted = false

    init(_ transaction: any ReadTransaction, entity: String, in range: IdentifierRange) {
        self.transaction = transaction
        self.entity = entity
        self.range = range
    }

    var identifier: UUID { buffer[position].id }

    var canonical: UnsafeRawBufferPointer { form.bytes }

    func next() throws -> Bool {
        position += 1
        if position >= buffer.count { try refill() }
        guard position < buffer.count else { return false }
        form.write(buffer[position].values)
        return true
    }

    private func refill() throws {
        let last = buffer.last?.id
        buffer = []
        position = 0
        guard !isExhausted else { return }
        let id = FilterExpression.attribute(AttributePath("id"))
        let lower: FilterExpression =
            last.map { .compare(.greater, id, .literal(.uuid($0))) }
            ?? .compare(.greaterOrEqual, id, .literal(.uuid(range.first)))
        var query = RecordQuery(entity: entity, limit: Self.chunk)
        query.filter = .and([lower, .compare(.lessOrEqual, id, .literal(.uuid(range.last)))])
        buffer = try transaction.records(query)
        isExhausted = buffer.count < Self.chunk
    }
}
