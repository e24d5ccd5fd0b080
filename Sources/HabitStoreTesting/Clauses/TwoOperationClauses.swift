import Foundation
@_spi(Engines) import HabitStore

/// One transaction deleted a folder and then saved a sheet that the app still held: the sheet came back with a reference that led nowhere. This
/// happened
/// on every engine, since all of them share the code that should have refused it. These clauses put every two operations on related records into one
/// transaction, and compare the result with a model of plain sets (``LinkOracle``) and with the store's check.
extension StoreContract {
    static let twoOperationClauses: [Clause] =
        LinkedKind.all.map { kind in
            Clause("two operations in one transaction leave no dangling reference: \(kind.name)") { bench in
                var operations = TwoOperations(kind, try bench.contract())
                try operations.run()
            }
        } + [
            Clause("two operations in one transaction leave no duplicate unique value") { bench in
                try exchangeRooms(try bench.contract())
            }
        ]

    /// Three bookings take one another's rooms and give them up, in each order: a room is free as soon as no booking has it.
    private static func exchangeRooms(_ store: any EngineBackedStore) throws {
        typealias Step = (booking: Int, room: String?)
        let steps: [Step] = (0..<3).flatMap { booking in ["A", "B", "C", nil].map { (booking, $0) } }
        var day = 0
        for first in steps {
            for second in steps {
                day += 1
                var bookings = ["A", "B", "C"].map { Booking($0, day: day, guest: $0) }
                try store.insert(Array(bookings.prefix(2)))
                var rooms: [Int: String] = [0: "A", 1: "B"]
                var isRefused = false
                for (booking, room) in [first, second] where !isRefused {
                    isRefused = room != nil && rooms.contains { $0.key != booking && $0.value == room }
                    rooms[booking] = room
                }
                if isRefused { rooms = [0: "A", 1: "B"] }
                let title =
                    "booking \(first.booking) to \(first.room ?? "none"), \(second.booking) to \(second.room ?? "none")"
                let stored = bookings
                do {
                    try store.write { transaction in
                        for (booking, room) in [first, second] {
                            var changed = stored[booking]
                            (changed.room, changed.guest) = (room ?? "", room)
                            if room == nil { try transaction.delete(changed) } else { try transaction.save(changed) }
                        }
                    }
                    try expect(!isRefused, "a taken room is refused: \(title)")
                } catch let error as HabitStoreError {
                    try expect(
                        isRefused && error.code == .uniqueViolation,
                        "only a taken room is refused: \(title), \(error)"
                    )
                }
                for (booking, room) in rooms { (bookings[booking].room, bookings[booking].guest) = (room, room) }
                let ids = Set(bookings.map(\.id))
                let found = try store.all(Booking.self).filter { ids.contains($0.id) }
                let left = rooms.keys.map { bookings[$0] }
                try expectEqual(Set(found.map(\.id)), Set(left.map(\.id)), "the bookings after \(title)")
                try expect(found.allSatisfy(left.contains), "each booking has its room after \(title)")
            }
        }
        try expectEqual(try store.check { _ in }, [], "a check's findings")
    }
}

/// Every two operations on a holder, its target and another target, in one transaction, from each possible state.
private struct TwoOperations {
    enum Operation: String, CaseIterable {
        case saveLinked, saveUnlinked, saveElsewhere, insertLinked, batchLinked, deleteHolder
        case saveTarget, insertTarget, batchTarget, deleteTarget, deleteTargetByFetch, deleteAndInsertTarget
    }

    enum Start: String, CaseIterable {
        case nothing, unlinked, linked
        /// As in an older store: the holder refers to a missing target.
        case dangling
    }

    struct Trio {
        let holder = UUID()
        let target = UUID()
        let other = UUID()
    }

    private let kind: LinkedKind
    private let store: any EngineBackedStore
    private var expected: LinkOracle.Records = [:]
    private var titles: [UUID: String] = [:]

    init(_ kind: LinkedKind, _ store: any EngineBackedStore) { (self.kind, self.store) = (kind, store) }

    mutating func run() throws {
        for start in Start.allCases {
            for first in Operation.allCases {
                for second in Operation.allCases { try run(start, [first, second]) }
            }
        }
        try compare()
    }

    private mutating func run(_ start: Start, _ operations: [Operation]) throws {
        let trio = Trio()
        let title = "\(kind.name), \(start.rawValue): \(operations.map(\.rawValue).joined(separator: ", "))"
        for id in [trio.holder, trio.target, trio.other] { titles[id] = title }
        let before = try prepare(start, trio)
        var oracle = LinkOracle(kind.rules, before)
        let wanted = Result<LinkOracle.Records, any Error> {
            for operation in operations { try perform(operation, trio, &oracle) }
            return try oracle.finish()
        }
        do {
            try store.write { transaction in
                for operation in operations { try perform(operation, trio, transaction) }
            }
            guard case .success(let after) = wanted else {
                throw ContractViolation("\(title): committed, should be refused (\(wanted))")
            }
            expected.merge(after) { $1 }
        } catch let error as HabitStoreError {
            guard case .failure(let refusal as LinkOracle.Refusal) = wanted, error.code == refusal.code else {
                throw ContractViolation("\(title): refused with \(error), should result in \(wanted)")
            }
            expected.merge(before) { $1 }
        }
    }

    /// Creates the initial records and returns the references of each.
    private func prepare(_ start: Start, _ trio: Trio) throws -> LinkOracle.Records {
        var records: LinkOracle.Records = [trio.other: []]
        switch start {
        case .nothing: break
        case .unlinked:
            records[trio.target] = []
            records[trio.holder] = kind.rules.isRequired ? [trio.other] : []
        case .linked: (records[trio.target], records[trio.holder]) = ([], [trio.target])
        case .dangling: records[trio.holder] = [trio.target]
        }
        // Bypasses the delete rules, as a copy of an older store does.
        try store.replicate { replica in
            for (id, links) in records {
                let isHolder = id == trio.holder
                let entity = try store.schema.position(ofEntity: (isHolder ? kind.holder : kind.target).name)
                let record = isHolder ? try kind.holder(id, links) : try kind.target(id)
                try replica.put(entity: entity, id: id, record)
            }
        }
        return records
    }

    private func perform(_ operation: Operation, _ trio: Trio, _ oracle: inout LinkOracle) throws {
        switch operation {
        case .saveLinked: oracle.save(trio.holder, [trio.target])
        case .saveUnlinked: oracle.save(trio.holder, kind.rules.isRequired ? [trio.other] : [])
        case .saveElsewhere: oracle.save(trio.holder, elsewhere(trio))
        case .insertLinked, .batchLinked: try oracle.insert(trio.holder, [trio.target])
        case .deleteHolder: try oracle.delete(trio.holder)
        case .saveTarget: oracle.save(trio.target, [])
        case .insertTarget, .batchTarget: try oracle.insert(trio.target, [])
        case .deleteTarget, .deleteTargetByFetch: try oracle.delete(trio.target)
        case .deleteAndInsertTarget:
            try oracle.delete(trio.target)
            try oracle.insert(trio.target, [])
        }
    }

    private func elsewhere(_ trio: Trio) -> Set<UUID> {
        kind.rules.isToOne ? [trio.other] : [trio.target, trio.other]
    }

    private func perform(_ operation: Operation, _ trio: Trio, _ transaction: any WriteTransaction) throws {
        func holder(_ links: Set<UUID>) throws -> any PersistentModel {
            try LinkedKind.model(kind.holder(trio.holder, links), of: kind.holder)
        }
        let target = try LinkedKind.model(kind.target(trio.target), of: kind.target)
        switch operation {
        case .saveLinked: try transaction.save(try holder([trio.target]))
        case .saveUnlinked: try transaction.save(try holder(kind.rules.isRequired ? [trio.other] : []))
        case .saveElsewhere: try transaction.save(try holder(elsewhere(trio)))
        case .insertLinked: try transaction.insert(try holder([trio.target]))
        case .batchLinked: try insertBatch(try holder([trio.target]), transaction)
        case .deleteHolder: try transaction.delete(try holder([]))
        case .saveTarget: try transaction.save(target)
        case .insertTarget: try transaction.insert(target)
        case .batchTarget: try insertBatch(target, transaction)
        case .deleteTarget: try transaction.delete(target)
        case .deleteTargetByFetch: try deleteByFetch(target, transaction)
        case .deleteAndInsertTarget:
            try transaction.delete(target)
            try transaction.insert(target)
        }
    }

    private func insertBatch<M: PersistentModel>(_ model: M, _ transaction: any WriteTransaction) throws {
        try transaction.insert(contentsOf: [model])
    }

    private func deleteByFetch<M: PersistentModel>(_ model: M, _ transaction: any WriteTransaction) throws {
        let isIt = FilterExpression.compare(.equal, .attribute(AttributePath("id")), .literal(.uuid(model.id)))
        try transaction.delete(FetchDescriptor<M>(filter: isIt))
    }

    // MARK: The final state

    private func compare() throws {
        var found: LinkOracle.Records = [:]
        try store.read { transaction in
            for name in Set([kind.holder.name, kind.target.name]) {
                let position = name == kind.holder.name ? kind.holder.position(of: kind.attribute) : nil
                for record in try transaction.records(RecordQuery(entity: name)) {
                    found[record.id] = position.map { links(record.values[$0]) } ?? []
                }
            }
        }
        for id in Set(found.keys).union(expected.keys) where found[id] != expected[id] {
            throw ContractViolation(
                "\(titles[id] ?? ""): targets of the record: \(found[id]?.count.description ?? "none, the record is missing"), expected: "
                    + (expected[id]?.count.description ?? "no record")
            )
        }
        let dangling = Set(expected.filter { $1.contains { expected[$0] == nil } }.keys)
        for finding in try store.check(progress: { _ in }) {
            guard finding.kind == "danglingReference", let id = finding.id, dangling.contains(id) else {
                throw ContractViolation("\(finding.id.flatMap { titles[$0] } ?? ""): the check found \(finding)")
            }
        }
    }

    private func links(_ value: Value) -> Set<UUID> {
        switch value {
        case .uuid(let id): [id]
        case .links(let ids): Set(ids)
        default: []
        }
    }
}

extension LinkOracle.Refusal {
    fileprivate var code: HabitStoreError.Code {
        switch self {
        case .taken: .uniqueViolation
        case .denied: .deleteDenied
        case .dangling: .danglingReference
        }
    }
}

/// A model of a write transaction over two kinds of records and one relationship, with plain sets. It shares no code with the product.
struct LinkOracle {
    /// The relationship's declaration.
    struct Rules: Sendable {
        /// What happens to a holder if its target is deleted.
        let ofHolders: DeleteRule
        /// What happens to a target if its holder is deleted.
        let ofTargets: DeleteRule
        /// Whether a holder refers to at most one record.
        let isToOne: Bool
        /// Whether a holder must refer to a record.
        let isRequired: Bool
    }

    /// Why the store refuses a transaction.
    enum Refusal: String, Error { case taken, denied, dangling }

    /// The references of each record.
    typealias Records = [UUID: Set<UUID>]

    let rules: Rules
    private let before: Records
    private(set) var records: Records

    init(_ rules: Rules, _ records: Records) { (self.rules, before, self.records) = (rules, records, records) }

    mutating func insert(_ id: UUID, _ links: Set<UUID>) throws {
        guard records[id] == nil else { throw Refusal.taken }
        records[id] = links
    }

    mutating func save(_ id: UUID, _ links: Set<UUID>) { records[id] = links }

    mutating func delete(_ id: UUID) throws {
        guard records[id] != nil else { return }
        var doomed: Set<UUID> = []
        var next = [id]
        while let gone = next.popLast() {
            guard doomed.insert(gone).inserted else { continue }
            if rules.ofHolders == .cascade { next += records.filter { $0.value.contains(gone) }.keys }
            if rules.ofTargets == .cascade { next += (records[gone] ?? []).filter { records[$0] != nil } }
        }
        let left = records.filter { !doomed.contains($0.key) }
        let losing = left.filter { !$0.value.isDisjoint(with: doomed) }
        if !losing.isEmpty, rules.ofHolders == .deny || (rules.ofHolders == .nullify && rules.isRequired) {
            throw Refusal.denied
        }
        let held = doomed.flatMap { records[$0] ?? [] }
        if rules.ofTargets == .deny, held.contains(where: { left[$0] != nil }) { throw Refusal.denied }
        records = rules.ofHolders == .nullify ? left.mapValues { $0.subtracting(doomed) } : left
    }

    /// Ends the transaction. A reference may lead nowhere only if it did so before, or if the rule of no action left it so.
    func finish() throws -> Records {
        for (id, links) in records {
            for target in links where records[target] == nil {
                let wasThere = before[id]?.contains(target) ?? false
                guard wasThere, before[target] == nil || rules.ofHolders == .noAction else { throw Refusal.dangling }
            }
        }
        return records
    }
}

/// A relationship of the kit that stores its references: how it is stored, and its rules as declared.
struct LinkedKind: Sendable {
    let holder: EntityDescription
    let target: EntityDescription
    /// The attribute that stores the relationship.
    let attribute: String
    let rules: LinkOracle.Rules

    var name: String { "\(holder.name).\(attribute)" }

    /// Every relationship of the kit's schema that stores its references.
    static let all: [LinkedKind] = ContractSchema.schema.entities.flatMap { holder in
        holder.relationships.compactMap { LinkedKind(holder, $0) }
    }

    private init?(_ holder: EntityDescription, _ relationship: RelationshipDescription) {
        switch relationship.kind {
        case .toOne(let attribute), .manyToManyOwner(let attribute): self.attribute = attribute
        case .toMany, .manyToManyInverse: return nil
        }
        guard let target = ContractSchema.schema.entities.first(where: { $0.name == relationship.destination }) else {
            return nil
        }
        (self.holder, self.target) = (holder, target)
        rules = LinkOracle.Rules(
            ofHolders: relationship.inverse.flatMap { target.relationship($0)?.deleteRule } ?? .noAction,
            ofTargets: relationship.deleteRule,
            isToOne: relationship.isToOne,
            isRequired: holder.attributes.contains { [attribute] in
                $0.name == attribute && $0.kind == .uuid && !$0.isOptional
            }
        )
    }

    /// A holder with these references, which is nil and empty otherwise.
    func holder(_ id: UUID, _ links: Set<UUID>) throws -> EncodedRecord {
        try record(holder, id) { attribute in
            guard attribute.name == self.attribute else { return nil }
            // A required reference needs a value also where none is wanted.
            if rules.isToOne { return (links.first ?? (rules.isRequired ? id : nil)).map { .uuid($0) } }
            return .links(links.sorted { $0.isBefore($1) })
        }
    }

    /// A target without references.
    func target(_ id: UUID) throws -> EncodedRecord { try record(target, id) { _ in nil } }

    private func record(
        _ entity: EntityDescription,
        _ id: UUID,
        _ value: (AttributeDescription) -> Value?
    ) throws -> EncodedRecord {
        let values = entity.attributes.map { attribute -> Value in
            if attribute.name == "id" { return .uuid(id) }
            return value(attribute) ?? (attribute.kind == .links ? .links([]) : .null)
        }
        return try EncodedRecord(values, layout: entity.layout)
    }

    /// The model of a record.
    static func model(_ record: EncodedRecord, of entity: EntityDescription) throws -> any PersistentModel {
        try record.withView(entity.layout) { view in
            var reader = view.reader
            return try entity.modelType.init(row: &reader)
        }
    }
}
