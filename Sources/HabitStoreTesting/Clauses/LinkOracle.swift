import Foundation

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
