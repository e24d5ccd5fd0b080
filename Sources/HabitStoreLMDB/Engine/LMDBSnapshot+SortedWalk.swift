import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

extension LMDBSnapshot {
    /// A walk whose candidates must come by identifier, which is not the index's order: it reads all keys first, and then the
    /// records in the order in which they are stored.
    func walkSorted(
        _ plan: KeyPlan,
        _ table: KeyTable,
        _ index: KeyIndex,
        _ walk: LMDBRangeWalk,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        if !plan.lendsIdentifiersOnly, holdsCopies(index) {
            return try walkSortedCopies(plan, table, index, walk, &window, body)
        }
        var keys: [IdentifierOrder] = []
        try walk.forEach(plan.ranges, reverse: false) { record in
            guard record.key.count > KeyFormat.identifierLength else { throw malformedKey(index) }
            keys.append(IdentifierOrder(endOf: record.key))
            return true
        }
        if ascends(plan) { keys.sort(by: <) } else { keys.sort(by: >) }
        guard !plan.lendsIdentifiersOnly else { return try lend(keys, table, &window, body) }
        // One cursor for all: with many identifiers, the next is often on the same page.
        let cursor = try transaction.cursor(catalog.records(table))
        for key in keys {
            if window.passesOver() { continue }
            let goesOn = try withUnsafeBytes(of: key.bytes) { id in
                guard let record = try cursor.seekExact(id) else { throw missingRecord(id, table, index) }
                var row = try view(table, id, record.value).reader
                return try body(&row)
            }
            guard goesOn, window.goesOn() else { return }
        }
    }

    /// The same for an index with copies, which are passed on in place, without searching for each record. Only for read snapshots,
    /// in which nothing moves.
    private func walkSortedCopies(
        _ plan: KeyPlan,
        _ table: KeyTable,
        _ index: KeyIndex,
        _ walk: LMDBRangeWalk,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        var found: [(id: IdentifierOrder, copy: UnsafeRawBufferPointer)] = []
        try walk.forEach(plan.ranges, reverse: false) { record in
            guard record.key.count > KeyFormat.identifierLength else { throw malformedKey(index) }
            found.append((IdentifierOrder(endOf: record.key), record.value))
            return true
        }
        if ascends(plan) { found.sort { $0.id < $1.id } } else { found.sort { $1.id < $0.id } }
        for (id, copy) in found {
            if window.passesOver() { continue }
            let goesOn = try withUnsafeBytes(of: id.bytes) { try emit($0, copy, table, index, body) }
            guard goesOn, window.goesOn() else { return }
        }
    }

    private func ascends(_ plan: KeyPlan) -> Bool { plan.order.first { $0.position == 0 }?.ascending ?? true }

    private func lend(
        _ keys: [IdentifierOrder],
        _ table: KeyTable,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let row = IdentifierRow()
        for key in keys {
            if window.passesOver() { continue }
            row.id = withUnsafeBytes(of: key.bytes) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
            guard try AttributeReader.withReader(of: row, layout: table.layout, body), window.goesOn() else { return }
        }
    }

    /// The error for an index entry without a record.
    func missingRecord(
        _ id: UnsafeRawBufferPointer,
        _ table: KeyTable,
        _ index: KeyIndex
    ) -> HabitStoreError {
        HabitStoreError.damage(
            "the index \(index.title) leads to a record that does not exist; run `\(OperatorCommand.name) check`",
            at: .init(path: catalog.path, entity: table.name, id: UUID(key: id))
        )
    }
}
