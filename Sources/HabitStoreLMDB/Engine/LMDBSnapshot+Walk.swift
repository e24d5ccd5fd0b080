import Foundation
@_spi(Engines) import HabitStore

@_spi(Engines) extension LMDBSnapshot {
    /// Hands every candidate of a plan to `body` until it returns false. A row is valid during the call.
    @discardableResult
    public func walk(_ plan: LMDBPlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        let table = catalog.tables[plan.entity]
        var window = LMDBWindow(plan.window)
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
                    guard record.key.count > LMDBFormat.identifierLength else { throw malformedKey(index) }
                    if window.passesOver() { return true }
                    let copy = copies ? record.value : LMDBSnapshot.noCopy
                    return try emit(identifier(record.key), copy, table, index, body) && window.goesOn()
                }
            }
        }
        return plan.examined + window.passedOver
    }

    /// The walk over all records in their order: one loop, with nothing in it that depends on the plan.
    private func scan(_ table: LMDBCatalog.Table, _ body: (inout AttributeReader) throws -> Bool) throws {
        let cursor = try transaction.cursor(catalog.records(table))
        while let record = try cursor.next() {
            var row = try view(table, record.key, record.value).reader
            guard try body(&row) else { return }
        }
    }

    /// The walk where only identifiers are asked for: the keys have them.
    private func lendIdentifiers(
        _ plan: LMDBPlan,
        _ table: LMDBCatalog.Table,
        _ walk: LMDBRangeWalk,
        _ window: inout LMDBWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let row = LMDBIdentifierRow()
        try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
            if window.passesOver() { return true }
            row.id = try identifier(endOf: record.key)
            return try AttributeReader.withReader(of: row, layout: table.layout, body) && window.goesOn()
        }
    }

    /// The walk where only attributes are asked for that the keys have.
    private func lendKeys(
        _ plan: LMDBPlan,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index,
        _ walk: LMDBRangeWalk,
        _ window: inout LMDBWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let row = LMDBKeyRow(index.layout)
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
        UnsafeRawBufferPointer(rebasing: key[(key.count - LMDBFormat.identifierLength)...])
    }

    private static var noCopy: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    /// Hands the record of an index entry to `body`: the copy that the index holds, or where it has none the record itself.
    @inline(__always)
    func emit(
        _ id: UnsafeRawBufferPointer,
        _ copy: UnsafeRawBufferPointer,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index,
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

    /// The walk where keys come in the query's order but for runs of keys that are equal, or equally cut: a run is
    /// gathered, put in order, and handed on.
    private func walkRepaired(
        _ plan: LMDBPlan,
        _ repair: LMDBPlan.OrderRepair,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index,
        _ walk: LMDBRangeWalk,
        _ window: inout LMDBWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        var run = LMDBKeyRun()
        var goesOn = true
        let lent = LMDBIdentifierRow()
        // What a write transaction reads lies where it does only until it writes.
        let copies = !plan.lendsIdentifiersOnly && !transaction.isWritable && holdsCopies(index)
        func hand(_ member: LMDBKeyRun.Member) throws -> Bool {
            guard plan.lendsIdentifiersOnly else {
                return try withUnsafeBytes(of: member.id.uuid) { try emit($0, member.copy, table, index, body) }
            }
            lent.id = member.id
            return try AttributeReader.withReader(of: lent, layout: table.layout, body)
        }
        func finish() throws {
            for member in try ordered(run, plan, repair, table, index) where goesOn {
                if window.passesOver() { continue }
                goesOn = try hand(member) && window.goesOn()
            }
        }
        try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
            guard let id = UUID(keyEnd: record.key) else { throw malformedKey(index) }
            let member = LMDBKeyRun.Member(id: id, copy: copies ? record.value : LMDBSnapshot.noCopy)
            let cut =
                repair.sortsCutTexts
                ? try index.layout.endOfFirstCut(record.key, from: repair.firstPart, at: repair.start) : nil
            let length = cut ?? record.key.count - LMDBFormat.identifierLength
            let shared = UnsafeRawBufferPointer(rebasing: record.key[..<length])
            if run.continues(with: shared, isCut: cut != nil) {
                run.members.append(member)
                return true
            }
            try finish()
            guard goesOn else { return false }
            run.begin(shared, isCut: cut != nil, member)
            return true
        }
        if goesOn { try finish() }
    }

    /// The members of a run in the query's order.
    private func ordered(
        _ run: LMDBKeyRun,
        _ plan: LMDBPlan,
        _ repair: LMDBPlan.OrderRepair,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index
    ) throws -> [LMDBKeyRun.Member] {
        guard run.isCut else { return repair.reversesEqualKeys ? run.members.reversed() : run.members }
        guard run.members.count > 1 else { return run.members }
        var keyed: [(values: [Value], member: LMDBKeyRun.Member)] = []
        for member in run.members {
            try withUnsafeBytes(of: member.id.uuid) { bytes in
                _ = try emit(bytes, member.copy, table, index) { row in
                    keyed.append((try plan.order.map { try row.value(at: $0.position) }, member))
                    return true
                }
            }
        }
        keyed.sort { left, right in
            for (place, key) in plan.order.enumerated() {
                let order = left.values[place].order(comparedWith: right.values[place])
                if order != 0 { return (order < 0) == key.ascending }
            }
            return false
        }
        return keyed.map(\.member)
    }
}

/// A walk as far as a window goes. It stands beside its loops, for which it has to be compiled in one module.
struct LMDBWindow {
    private var toPassOver: Int
    private var left: Int
    private(set) var passedOver = 0

    init(_ window: FetchWindow) { (toPassOver, left) = (window.offset, window.limit ?? Int.max) }

    /// Whether a candidate lies before the offset.
    @inline(__always)
    mutating func passesOver() -> Bool {
        guard toPassOver > 0 else { return false }
        toPassOver -= 1
        passedOver += 1
        return true
    }

    /// Whether another candidate is wanted after one that was handed out.
    @inline(__always)
    mutating func goesOn() -> Bool {
        left -= 1
        return left > 0
    }
}

/// Keys that come one after the other and are equal but for their identifiers, or up to a cut text.
struct LMDBKeyRun {
    /// An entry: what it leads to, and the copy of it that the index holds, empty for none.
    struct Member {
        let id: UUID
        let copy: UnsafeRawBufferPointer
    }

    var members: [Member] = []
    private(set) var isCut = false
    private var shared: [UInt8] = []

    func continues(with key: UnsafeRawBufferPointer, isCut: Bool) -> Bool {
        !members.isEmpty && self.isCut == isCut && shared.elementsEqual(key)
    }

    mutating func begin(_ key: UnsafeRawBufferPointer, isCut: Bool, _ member: Member) {
        shared.removeAll(keepingCapacity: true)
        shared.append(contentsOf: key)
        self.isCut = isCut
        members.removeAll(keepingCapacity: true)
        members.append(member)
    }
}
