import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

@_spi(Engines) extension LMDBSnapshot {
    /// Passes every candidate of a plan to `body` until it returns false. A row is valid during the call.
    @discardableResult
    public func walk(_ plan: KeyPlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        let table = catalog.tables[plan.entity]
        var window = KeyWindow(plan.window)
        switch plan.access {
        case .nothing: break
        case .records:
            let walk = LMDBRangeWalk(try transaction.cursor(catalog.records(table)))
            if plan.lendsIdentifiersOnly {
                try lendIdentifiers(plan, table, walk, &window, body)
                break
            }
            if plan.isWholeScan {
                try scan(table, body)
                break
            }
            try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
                if window.passesOver() { return true }
                var row = try view(table, record.key, record.value).reader
                return try body(&row) && window.goesOn()
            }
        case .index(let place):
            let index = table.indexes[place]
            let walk = LMDBRangeWalk(try transaction.cursor(catalog.database(index)))
            if plan.sortsIdentifiers {
                try walkSorted(plan, table, index, walk, &window, body)
            } else if let repair = plan.repair {
                try walkRepaired(plan, repair, table, index, walk, &window, body)
            } else if plan.lendsIdentifiersOnly {
                try lendIdentifiers(plan, table, walk, &window, body)
            } else if plan.lendsKeysOnly {
                try lendKeys(plan, table, index, walk, &window, body)
            } else {
                let copies = holdsCopies(index)
                try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
                    guard record.key.count > KeyFormat.identifierLength else { throw malformedKey(index) }
                    if window.passesOver() { return true }
                    let copy = copies ? record.value : LMDBSnapshot.noCopy
                    return try emit(identifier(record.key), copy, table, index, body) && window.goesOn()
                }
            }
        }
        return plan.examined + window.passedOver
    }

    /// A walk over all records in order: one loop, in which nothing depends on the plan.
    private func scan(_ table: KeyTable, _ body: (inout AttributeReader) throws -> Bool) throws {
        let cursor = try transaction.cursor(catalog.records(table))
        while let record = try cursor.next() {
            var row = try view(table, record.key, record.value).reader
            guard try body(&row) else { return }
        }
    }

    /// A walk for which the identifiers in the keys are enough.
    private func lendIdentifiers(
        _ plan: KeyPlan,
        _ table: KeyTable,
        _ walk: LMDBRangeWalk,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let row = IdentifierRow()
        try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
            if window.passesOver() { return true }
            row.id = try identifier(endOf: record.key)
            return try AttributeReader.withReader(of: row, layout: table.layout, body) && window.goesOn()
        }
    }

    /// A walk for which the attributes in the keys are enough.
    private func lendKeys(
        _ plan: KeyPlan,
        _ table: KeyTable,
        _ index: KeyIndex,
        _ walk: LMDBRangeWalk,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let row = KeyRow(index.layout)
        try AttributeReader.withReader(of: row, layout: table.layout) { reader in
            try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
                if window.passesOver() { return true }
                row.key = record.key
                reader.rewind()
                return try body(&reader) && window.goesOn()
            }
        }
    }

    @inline(__always)
    private func identifier(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: key[(key.count - KeyFormat.identifierLength)...])
    }

    private static var noCopy: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    /// Passes the record of an index entry to `body`: the index's copy or, if it has none, the record itself.
    @inline(__always)
    func emit(
        _ id: UnsafeRawBufferPointer,
        _ copy: UnsafeRawBufferPointer,
        _ table: KeyTable,
        _ index: KeyIndex,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> Bool {
        guard copy.isEmpty else {
            var row = try view(table, id, copy, of: index).reader
            return try body(&row)
        }
        guard var row = try row(table, id)?.reader else {
            throw missingRecord(id, table, index)
        }
        return try body(&row)
    }

    /// A walk whose keys are in the query's order except for runs of equal, or equally truncated, keys: each run is collected,
    /// sorted and passed on.
    private func walkRepaired(
        _ plan: KeyPlan,
        _ repair: KeyPlan.OrderRepair,
        _ table: KeyTable,
        _ index: KeyIndex,
        _ walk: LMDBRangeWalk,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        var run = KeyRun(plan, repair)
        var goesOn = true
        let lent = IdentifierRow()
        // In a write transaction, what was read stays in place only until the next write.
        let copies = !plan.lendsIdentifiersOnly && !transaction.isWritable && holdsCopies(index)
        func hand(_ member: KeyRun.Member) throws -> Bool {
            guard plan.lendsIdentifiersOnly else {
                return try withUnsafeBytes(of: member.id.uuid) { try emit($0, member.copy, table, index, body) }
            }
            lent.id = member.id
            return try AttributeReader.withReader(of: lent, layout: table.layout, body)
        }
        func finish() throws {
            let members = try run.ordered { member, read in
                try withUnsafeBytes(of: member.id.uuid) { id in
                    _ = try emit(id, member.copy, table, index) { row in
                        try read(&row)
                        return true
                    }
                }
            }
            for member in members where goesOn {
                if window.passesOver() { continue }
                goesOn = try hand(member) && window.goesOn()
            }
        }
        try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
            guard let id = UUID(keyEnd: record.key) else { throw malformedKey(index) }
            let member = KeyRun.Member(id: id, copy: copies ? record.value : LMDBSnapshot.noCopy)
            let beginning = try run.beginning(of: record.key, index.layout)
            if run.takes(member, at: beginning) { return true }
            try finish()
            guard goesOn else { return false }
            run.begin(member, at: beginning)
            return true
        }
        if goesOn { try finish() }
    }
}

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

/// Walks key ranges with one cursor.
struct LMDBRangeWalk {
    private let cursor: LMDBCursor

    init(_ cursor: LMDBCursor) { self.cursor = cursor }

    /// Passes the records of the ranges to `body` in key order, or backwards, until it returns false.
    ///
    /// - Parameter ranges: disjoint and ascending.
    @inline(__always)
    func forEach(_ ranges: [KeyRange], reverse: Bool, _ body: (LMDBRecord) throws -> Bool) throws {
        if reverse {
            for range in ranges.reversed() { guard try backwards(range, body) else { return } }
        } else {
            for range in ranges { guard try forwards(range, body) else { return } }
        }
    }

    /// - Returns: whether to continue.
    @inline(__always)
    private func forwards(_ range: KeyRange, _ body: (LMDBRecord) throws -> Bool) throws -> Bool {
        var record = range.lower.isEmpty ? try cursor.first() : try cursor.seek(range.lower)
        guard let upper = range.upper else {
            while let found = record {
                guard try body(found) else { return false }
                record = try cursor.next()
            }
            return true
        }
        return try upper.withUnsafeBytes { upper in
            while let found = record, KeyOrder.isBefore(found.key, upper) {
                guard try body(found) else { return false }
                record = try cursor.next()
            }
            return true
        }
    }

    /// - Returns: whether to continue.
    @inline(__always)
    private func backwards(_ range: KeyRange, _ body: (LMDBRecord) throws -> Bool) throws -> Bool {
        var record: LMDBRecord?
        if let upper = range.upper {
            guard !upper.isEmpty else { return true }
            record = try cursor.seek(upper) == nil ? try cursor.last() : try cursor.previous()
        } else {
            record = try cursor.last()
        }
        return try range.lower.withUnsafeBytes { lower in
            while let found = record, !KeyOrder.isBefore(found.key, lower) {
                guard try body(found) else { return false }
                record = try cursor.previous()
            }
            return true
        }
    }
}
