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
                let entity = try store.schema.position(ofEntity: isHolder ? kind.holder : kind.target)
                let model = isHolder ? kind.makeHolder(id, links) : kind.makeTarget(id)
                try replica.put(entity: entity, id: id, try encoded(model, store.schema.entities[entity]))
            }
        }
        return records
    }

    private func encoded(_ model: any PersistentModel, _ entity: EntityDescription) throws -> EncodedRecord {
        var writer = AttributeWriter(layout: entity.layout)
        try model.write(to: &writer)
        return try writer.finish { EncodedRecord(copying: $0) }
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
        func holder(_ links: Set<UUID>) -> any PersistentModel { kind.makeHolder(trio.holder, links) }
        let target = kind.makeTarget(trio.target)
        switch operation {
        case .saveLinked: try transaction.save(holder([trio.target]))
        case .saveUnlinked: try transaction.save(holder(kind.rules.isRequired ? [trio.other] : []))
        case .saveElsewhere: try transaction.save(holder(elsewhere(trio)))
        case .insertLinked: try transaction.insert(holder([trio.target]))
        case .batchLinked: try insertBatch(holder([trio.target]), transaction)
        case .deleteHolder: try transaction.delete(holder([]))
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
            for name in Set([kind.holder, kind.target]) {
                let entity = store.schema.entities[try store.schema.position(ofEntity: name)]
                let position = name == kind.holder ? entity.position(of: kind.attribute) : nil
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
        var ofHolders = Rule.noAction
        /// What happens to a target if its holder is deleted.
        var ofTargets = Rule.nullify
        /// Whether a holder refers to at most one record.
        var isToOne = true
        /// Whether a holder must refer to a record.
        var isRequired = false
    }

    enum Rule: String, Sendable { case cascade, nullify, deny, noAction }

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

/// A relationship of the kit: its holder, its target and how it is stored.
struct LinkedKind: Sendable {
    let name: String
    let holder: String
    let target: String
    /// The attribute that stores the relationship.
    let attribute: String
    let rules: LinkOracle.Rules
    let makeHolder: @Sendable (UUID, Set<UUID>) -> any PersistentModel
    let makeTarget: @Sendable (UUID) -> any PersistentModel

    /// Every relationship of the kit's schema that stores its references.
    static let all: [LinkedKind] = items + bouquets + wrappers + [badge, folder]

    private static let items: [LinkedKind] = [
        item("cascading", .cascade, \.cascadingHubID), item("nullified", .nullify, \.nullifiedHubID),
        item("denying", .deny, \.denyingHubID), item("lingering", .noAction, \.lingeringHubID),
    ]

    private static func item(
        _ name: String,
        _ rule: LinkOracle.Rule,
        _ reference: any WritableKeyPath<Item, UUID?> & Sendable
    ) -> LinkedKind {
        kind(name, "HubID", "Hub", .init(ofHolders: rule), Item.init, one: reference, makeHub)
    }

    private static let bouquets: [LinkedKind] = [
        bouquet("cascading", .cascade, \.cascadingLeafIDs), bouquet("nullified", .nullify, \.nullifiedLeafIDs),
        bouquet("denying", .deny, \.denyingLeafIDs), bouquet("lingering", .noAction, \.lingeringLeafIDs),
    ]

    private static func bouquet(
        _ name: String,
        _ rule: LinkOracle.Rule,
        _ links: any WritableKeyPath<Bouquet, Set<UUID>> & Sendable
    ) -> LinkedKind {
        kind(name, "LeafIDs", "Leaf", .init(ofHolders: rule, isToOne: false), Bouquet.init, many: links, makeLeaf)
    }

    private static let wrappers: [LinkedKind] = [
        wrapper("cascading", .cascade, \.cascadingLeafID), wrapper("nullified", .nullify, \.nullifiedLeafID),
        wrapper("denying", .deny, \.denyingLeafID), wrapper("lingering", .noAction, \.lingeringLeafID),
        linkWrapper("cascading", .cascade, \.cascadingLinkIDs), linkWrapper("nullified", .nullify, \.nullifiedLinkIDs),
        linkWrapper("denying", .deny, \.denyingLinkIDs), linkWrapper("lingering", .noAction, \.lingeringLinkIDs),
    ]

    private static func wrapper(
        _ name: String,
        _ rule: LinkOracle.Rule,
        _ reference: any WritableKeyPath<Wrapper, UUID?> & Sendable
    ) -> LinkedKind {
        kind(name, "LeafID", "Leaf", .init(ofTargets: rule), Wrapper.init, one: reference, makeLeaf)
    }

    private static func linkWrapper(
        _ name: String,
        _ rule: LinkOracle.Rule,
        _ links: any WritableKeyPath<Wrapper, Set<UUID>> & Sendable
    ) -> LinkedKind {
        kind(name, "LinkIDs", "Leaf", .init(ofTargets: rule, isToOne: false), Wrapper.init, many: links, makeLeaf)
    }

    private static let badge = LinkedKind(
        name: "Badge.hubID",
        holder: "Badge",
        target: "Hub",
        attribute: "hubID",
        rules: .init(ofHolders: .nullify, isRequired: true),
        makeHolder: { id, links in
            var badge = Badge(hubID: links.first ?? id)
            badge.id = id
            return badge
        },
        makeTarget: makeHub
    )

    private static let folder = LinkedKind(
        name: "Folder.parentID",
        holder: "Folder",
        target: "Folder",
        attribute: "parentID",
        rules: .init(ofHolders: .cascade),
        makeHolder: { id, links in
            var folder = Folder(parentID: links.first)
            folder.id = id
            return folder
        },
        makeTarget: { id in
            var folder = Folder()
            folder.id = id
            return folder
        }
    )

    private static let makeHub: @Sendable (UUID) -> any PersistentModel = { id in
        var hub = Hub()
        hub.id = id
        return hub
    }

    private static let makeLeaf: @Sendable (UUID) -> any PersistentModel = { id in
        var leaf = Leaf()
        leaf.id = id
        return leaf
    }

    private static func kind<M: IdentifiedModel>(
        _ name: String,
        _ suffix: String,
        _ target: String,
        _ rules: LinkOracle.Rules,
        _ make: @escaping @Sendable () -> M,
        one reference: any WritableKeyPath<M, UUID?> & Sendable,
        _ makeTarget: @escaping @Sendable (UUID) -> any PersistentModel
    ) -> LinkedKind {
        LinkedKind(
            name: "\(M.entity.name).\(name)\(suffix)",
            holder: M.entity.name,
            target: target,
            attribute: name + suffix,
            rules: rules,
            makeHolder: { id, links in
                var model = make()
                model.id = id
                model[keyPath: reference] = links.first
                return model
            },
            makeTarget: makeTarget
        )
    }

    private static func kind<M: IdentifiedModel>(
        _ name: String,
        _ suffix: String,
        _ target: String,
        _ rules: LinkOracle.Rules,
        _ make: @escaping @Sendable () -> M,
        many links: any WritableKeyPath<M, Set<UUID>> & Sendable,
        _ makeTarget: @escaping @Sendable (UUID) -> any PersistentModel
    ) -> LinkedKind {
        LinkedKind(
            name: "\(M.entity.name).\(name)\(suffix)",
            holder: M.entity.name,
            target: target,
            attribute: name + suffix,
            rules: rules,
            makeHolder: { id, targets in
                var model = make()
                model.id = id
                model[keyPath: links] = targets
                return model
            },
            makeTarget: makeTarget
        )
    }
}

/// A model with a settable identifier.
private protocol IdentifiedModel: PersistentModel {
    var id: UUID { get set }
}

extension Item: IdentifiedModel {}
extension Bouquet: IdentifiedModel {}
extension Wrapper: IdentifiedModel {}
