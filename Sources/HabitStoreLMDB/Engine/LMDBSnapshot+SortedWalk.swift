import Foundation
@_spi(Engines) import HabitStore

extension LMDBSnapshot {
    /// The walk whose candidates are wanted by identifier, which is not the order of the index: its keys are gone through
    /// first, and the records are read in the order in which they lie.
    func walkSorted(
        _ plan: LMDBPlan,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index,
        _ walk: LMDBRangeWalk,
        _ window: inout LMDBWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        if !plan.lendsIdentifiersOnly, holdsCopies(index) {
            return try walkSortedCopies(plan, table, index, walk, &window, body)
        }
        var keys: [LMDBIdentifierOrder] = []
        try walk.forEach(plan.ranges, reverse: false) { record in
            guard record.key.count > LMDBFormat.identifierLength else { throw malformedKey(index) }
            keys.append(LMDBIdentifierOrder(endOf: record.key))
            return true
        }
        if ascends(plan) { keys.sort(by: <) } else { keys.sort(by: >) }
        guard !plan.lendsIdentifiersOnly else { return try lend(keys, table, &window, body) }
        // One cursor for all: where identifiers are many, the next is often on the page of the one before.
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

    /// The same where the index holds copies: they are handed out where they lie, without a search for each record. (This
    /// walk is for snapshots alone, in which nothing moves.)
    private func walkSortedCopies(
        _ plan: LMDBPlan,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index,
        _ walk: LMDBRangeWalk,
        _ window: inout LMDBWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        var found: [(id: LMDBIdentifierOrder, copy: UnsafeRawBufferPointer)] = []
        try walk.forEach(plan.ranges, reverse: false) { record in
            guard record.key.count > LMDBFormat.identifierLength else { throw malformedKey(index) }
            found.append((LMDBIdentifierOrder(endOf: record.key), record.value))
            return true
        }
        if ascends(plan) { found.sort { $0.id < $1.id } } else { found.sort { $1.id < $0.id } }
        for (id, copy) in found {
            if window.passesOver() { continue }
            let goesOn = try withUnsafeBytes(of: id.bytes) { try emit($0, copy, table, index, body) }
            guard goesOn, window.goesOn() else { return }
        }
    }

    private func ascends(_ plan: LMDBPlan) -> Bool { plan.order.first { $0.position == 0 }?.ascending ?? true }

    private func lend(
        _ keys: [LMDBIdentifierOrder],
        _ table: LMDBCatalog.Table,
        _ window: inout LMDBWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let row = LMDBIdentifierRow()
        for key in keys {
            if window.passesOver() { continue }
            row.id = withUnsafeBytes(of: key.bytes) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
            guard try AttributeReader.withReader(of: row, layout: table.layout, body), window.goesOn() else { return }
        }
    }

    /// The error for an index entry whose record is not there.
    func missingRecord(
        _ id: UnsafeRawBufferPointer,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index
    ) -> HabitStoreError {
        HabitStoreError.damage(
            "the index \(index.title) leads to a record that does not exist; run `habitstore check`",
            at: .init(path: catalog.path, entity: table.name, id: UUID(key: id))
        )
    }
}

/// An identifier as two numbers, whose order is that of its bytes.
struct LMDBIdentifierOrder: Comparable, BitwiseCopyable {
    private let high: UInt64
    private let low: UInt64

    /// The identifier that ends a key.
    ///
    /// - Precondition: the key has at least ``LMDBFormat/identifierLength`` bytes.
    @inline(__always)
    init(endOf key: UnsafeRawBufferPointer) {
        let start = key.count - LMDBFormat.identifierLength
        high = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
        low = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self))
    }

    /// The identifier's bytes, in memory as in keys.
    var bytes: (UInt64, UInt64) { (high.bigEndian, low.bigEndian) }

    @inline(__always)
    static func < (left: LMDBIdentifierOrder, right: LMDBIdentifierOrder) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}
