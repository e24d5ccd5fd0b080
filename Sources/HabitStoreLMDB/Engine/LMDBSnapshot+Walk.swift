import Foundation
import HabitStore

extension LMDBSnapshot {
    /// Hands every candidate of a plan to `body` until it returns false. A row is valid during the call.
    @discardableResult
    public func walk(_ plan: LMDBPlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        let table = catalog.tables[plan.entity]
        var window = LMDBWindow(plan)
        switch plan.access {
        case .nothing: break
        case .records:
            let walk = LMDBRangeWalk(try transaction.cursor(catalog.records(table)))
            if plan.lendsIdentifiersOnly {
                try lendIdentifiers(plan, table, walk, &window, body)
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
            if let repair = plan.repair {
                try walkRepaired(plan, repair, table, index, walk, &window, body)
            } else if plan.lendsIdentifiersOnly {
                try lendIdentifiers(plan, table, walk, &window, body)
            } else {
                try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
                    guard record.key.count > LMDBFormat.identifierLength else { throw malformedKey(index) }
                    if window.passesOver() { return true }
                    return try emit(identifier(record.key), table, index, body) && window.goesOn()
                }
            }
        }
        return plan.examined + window.passedOver
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

    @inline(__always)
    private func identifier(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: key[(key.count - LMDBFormat.identifierLength)...])
    }

    @inline(__always)
    private func emit(
        _ id: UnsafeRawBufferPointer,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> Bool {
        guard var row = try row(table, id)?.reader else {
            throw HabitStoreError(
                .corrupt,
                "the index \(index.title) leads to a record that does not exist; run `habitstore check`",
                at: .init(path: catalog.path, entity: table.name, id: UUID(key: id))
            )
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
        func hand(_ id: UUID) throws -> Bool {
            guard plan.lendsIdentifiersOnly else {
                return try withUnsafeBytes(of: id.uuid) { try emit($0, table, index, body) }
            }
            lent.id = id
            return try AttributeReader.withReader(of: lent, layout: table.layout, body)
        }
        func finish() throws {
            for id in try ordered(run, plan, repair, table, index) where goesOn {
                if window.passesOver() { continue }
                goesOn = try hand(id) && window.goesOn()
            }
        }
        try walk.forEach(plan.ranges, reverse: plan.isReverse) { record in
            guard let id = UUID(keyEnd: record.key) else { throw malformedKey(index) }
            let cut =
                repair.sortsCutTexts
                ? try index.layout.endOfFirstCut(record.key, from: repair.firstPart, at: repair.start) : nil
            let length = cut ?? record.key.count - LMDBFormat.identifierLength
            let shared = UnsafeRawBufferPointer(rebasing: record.key[..<length])
            if run.continues(with: shared, isCut: cut != nil) {
                run.identifiers.append(id)
                return true
            }
            try finish()
            guard goesOn else { return false }
            run.begin(shared, isCut: cut != nil, id)
            return true
        }
        if goesOn { try finish() }
    }

    /// The identifiers of a run in the query's order.
    private func ordered(
        _ run: LMDBKeyRun,
        _ plan: LMDBPlan,
        _ repair: LMDBPlan.OrderRepair,
        _ table: LMDBCatalog.Table,
        _ index: LMDBCatalog.Index
    ) throws -> [UUID] {
        guard run.isCut else { return repair.reversesEqualKeys ? run.identifiers.reversed() : run.identifiers }
        guard run.identifiers.count > 1 else { return run.identifiers }
        var keyed: [(values: [Value], id: UUID)] = []
        for id in run.identifiers {
            try withUnsafeBytes(of: id.uuid) { bytes in
                _ = try emit(bytes, table, index) { row in
                    keyed.append((try plan.order.map { try row.value(at: $0.position) }, id))
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
        return keyed.map(\.id)
    }
}

/// What offset and limit leave of a walk.
private struct LMDBWindow {
    private var toPassOver: Int
    private var left: Int
    private(set) var passedOver = 0

    init(_ plan: LMDBPlan) {
        toPassOver = plan.offset
        left = plan.limit ?? Int.max
    }

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
    var identifiers: [UUID] = []
    private(set) var isCut = false
    private var shared: [UInt8] = []

    func continues(with key: UnsafeRawBufferPointer, isCut: Bool) -> Bool {
        !identifiers.isEmpty && self.isCut == isCut && shared.elementsEqual(key)
    }

    mutating func begin(_ key: UnsafeRawBufferPointer, isCut: Bool, _ id: UUID) {
        shared.removeAll(keepingCapacity: true)
        shared.append(contentsOf: key)
        self.isCut = isCut
        identifiers.removeAll(keepingCapacity: true)
        identifiers.append(id)
    }
}
