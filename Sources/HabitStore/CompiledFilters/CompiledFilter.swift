import Foundation

/// A condition compiled for one query: it runs over encoded records where they lie, or over an engine's columns, and
/// decodes only what no comparison of bytes can decide.
///
/// It means what ``FilterEvaluator`` means, and fails where that fails. Two things it takes for granted that the evaluator
/// does not: that stored text is UTF-8 in NFC, and that an engine's identifiers of related records have records; damage of
/// these two kinds is for the store's check to find.
///
/// It belongs to one thread and one query.
package final class CompiledFilter {
    private let test: FilterTest
    private let rows: OwnedBuffer<UnsafePointer<AttributeReader>>
    private let moment: FilterSnapshot
    private let mayChange: Bool

    /// - Parameters:
    ///   - condition: bound to `schema`.
    ///   - entity: the entity of the rows.
    ///   - records: follows relationships.
    ///   - recordsMayChange: whether records may change between two rows, as in a write transaction.
    package init(
        _ condition: BoundExpression,
        entity: Int,
        schema: Schema,
        records: any RelatedRecords,
        recordsMayChange: Bool
    ) {
        let moment = FilterSnapshot()
        var compiler = FilterCompiler(schema: schema, records: records, moment: moment)
        test = compiler.test(condition.folded(), [0: .init(slot: 0, entity: entity)])
        rows = OwnedBuffer(count: compiler.slotCount)
        self.moment = moment
        mayChange = recordsMayChange
    }

    /// The same as ``matches(_:)`` for a loop over rows none of which changes; nil where they may. It is valid as long as the
    /// filter is.
    var loop: FilterLoop? { mayChange ? nil : FilterLoop(rows: FilterRows(rows.base), test: test) }

    /// Whether a row fulfils the condition. The row stays where it is.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where Swift would trap.
    package func matches(_ row: inout AttributeReader) throws -> Bool {
        if mayChange { moment.pass() }
        return try withUnsafePointer(to: &row) { reader in
            let rows = FilterRows(self.rows.base)
            rows[0] = reader
            return try test(rows)
        }
    }
}

/// The moment up to which a record that was read is still what is stored.
final class FilterSnapshot {
    private(set) var number: UInt64 = 1

    /// Nothing that was read before counts any more.
    func pass() { number &+= 1 }
}

/// The records that a compiled filter reads: each variable has a slot with a borrowed reader.
struct FilterRows {
    private let slots: UnsafeMutablePointer<UnsafePointer<AttributeReader>>

    init(_ slots: UnsafeMutablePointer<UnsafePointer<AttributeReader>>) { self.slots = slots }

    /// The reader in a slot. A slot is filled before anything that reads it runs.
    subscript(slot: Int) -> UnsafePointer<AttributeReader> {
        @inline(__always) get { slots[slot] }
        @inline(__always) nonmutating set { slots[slot] = newValue }
    }
}

/// A compiled condition. Closures, since calling one takes fewer loads than calling a method of a node's class does, and
/// neither counts a reference.
typealias FilterTest = (FilterRows) throws -> Bool
/// A compiled whole number or truth value (1 and 0); nil for nil.
typealias FilterInt = (FilterRows) throws -> Int64?
/// A compiled double, or the seconds of a date; nil for nil.
typealias FilterDouble = (FilterRows) throws -> Double?
/// A compiled identifier; nil for nil.
typealias FilterIdentifier = (FilterRows) throws -> IdentifierKey?
/// Compiled text in UTF-8, or data; nil for nil. The bytes are valid until the same closure runs again.
typealias FilterBytes = (FilterRows) throws -> UnsafeRawBufferPointer?
/// A compiled value of any kind.
typealias FilterValue = (FilterRows) throws -> Value

/// A compiled filter as a loop over rows has it at hand: nothing is looked up, and no reference counted, for each row.
struct FilterLoop {
    let rows: FilterRows
    let test: FilterTest

    /// Whether a row fulfils the condition. The row stays where it is.
    @inline(__always)
    func matches(_ row: inout AttributeReader) throws -> Bool {
        try withUnsafePointer(to: &row) { reader in
            rows[0] = reader
            return try test(rows)
        }
    }
}

/// A test in an array of tests; a bare closure would be stored in a form that takes three calls to run.
struct FilterPart {
    let test: FilterTest
}

/// Tells which of a plan's candidates are results: what the engine left of the filter, then the condition that engines do
/// not know. It is not generic, so that nothing about types is looked up for each row.
final class CandidateFilter {
    /// How what the engine left of the filter is evaluated.
    enum Residual {
        /// As it is written, by the reference.
        case interpreted(BoundExpression, FilterEvaluator)
        /// Compiled for the query.
        case compiled(CompiledFilter)
    }

    private let compiled: CompiledFilter?
    private let interpreted: (filter: BoundExpression, evaluator: FilterEvaluator)?
    private let condition: PreparedFetch.Condition?
    private let entity: String
    private let collectsFailures: Bool
    private var failure: (id: UUID, error: HabitStoreError)?

    /// - Parameters:
    ///   - residual: what the engine left of the filter.
    ///   - condition: a condition that engines do not know.
    ///   - entity: the name of the rows' entity.
    ///   - collectsFailures: whether a record that cannot be evaluated is kept for ``rethrow()``, so that of several the one
    ///     with the least identifier is reported, in whatever order they come.
    init(
        residual: Residual?,
        condition: PreparedFetch.Condition?,
        entity: String,
        collectsFailures: Bool
    ) {
        // Kept apart: a case with values in it would be copied for each row.
        switch residual {
        case .compiled(let filter): (compiled, interpreted) = (filter, nil)
        case .interpreted(let filter, let evaluator): (compiled, interpreted) = (nil, (filter, evaluator))
        case nil: (compiled, interpreted) = (nil, nil)
        }
        self.condition = condition
        self.entity = entity
        self.collectsFailures = collectsFailures
    }

    /// The filter for a loop over many rows, where it is all that decides; valid as long as this is.
    var loop: FilterLoop? { condition == nil && !collectsFailures ? compiled?.loop : nil }

    /// Whether a candidate is a result. The row is at its beginning afterwards.
    func passes(_ row: inout AttributeReader) throws -> Bool {
        guard collectsFailures else { return try evaluate(&row) }
        do {
            return try evaluate(&row)
        } catch let error as HabitStoreError where error.code == .evaluationFailed {
            row.rewind()
            let id = try row.nextUUID()
            row.rewind()
            if failure.map({ id.isBefore($0.id) }) ?? true { failure = (id, error) }
            return false
        }
    }

    /// Throws the failure of the record with the least identifier among those that failed.
    func rethrow() throws {
        guard let failure else { return }
        throw HabitStoreError(
            .evaluationFailed,
            failure.error.message,
            at: .init(entity: entity, id: failure.id),
            underlying: failure.error.underlying
        )
    }

    private func evaluate(_ row: inout AttributeReader) throws -> Bool {
        if let compiled {
            guard try compiled.matches(&row) else { return false }
        } else if let interpreted {
            guard try interpreted.evaluator.matches(interpreted.filter, row.values) else { return false }
        }
        guard let condition else { return true }
        defer { row.rewind() }
        return try condition(&row)
    }
}

/// Tells of single records whether they fulfil a fetch's condition, in one transaction: by the same compiled filter that finishes
/// what an engine leaves of a query, made of the whole condition. The order and the window do not count.
@_spi(Engines) public struct RowMatcher {
    private let filter: CandidateFilter

    init(_ filter: CandidateFilter) { self.filter = filter }

    /// Whether a record fulfils the condition. The row has to be at its beginning, and is so afterwards.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where evaluating it would trap in Swift. Of a condition that may fail
    ///   by its form, that is thrown by ``rethrow()``, and a record that cannot be evaluated does not fulfil it.
    public func matches(_ row: inout AttributeReader) throws -> Bool { try filter.passes(&row) }

    /// Throws the failure of the record with the least identifier among those that could not be evaluated.
    func rethrow() throws { try filter.rethrow() }
}

/// Memory of a fixed size that lives as long as its owner, so that compiled filters read it without counting references.
final class OwnedBuffer<Element: BitwiseCopyable> {
    /// The first element.
    let base: UnsafeMutablePointer<Element>
    /// The number of elements.
    let count: Int

    /// Uninitialised memory.
    init(count: Int) {
        self.count = count
        base = .allocate(capacity: max(1, count))
    }

    /// A copy.
    convenience init(_ elements: some Collection<Element>) {
        self.init(count: elements.count)
        for (place, element) in elements.enumerated() { (base + place).initialize(to: element) }
    }

    deinit { base.deallocate() }
}

extension OwnedBuffer where Element == UInt8 {
    /// The bytes.
    var bytes: UnsafeRawBufferPointer {
        @inline(__always) get { UnsafeRawBufferPointer(start: base, count: count) }
    }
}

/// Bytes of a value that had to be made, until the next one is made.
final class FilterScratch {
    private var memory: UnsafeMutableRawBufferPointer

    /// More than this is given back when less is needed again.
    private static let keptBytes = 16_384

    init() { memory = .allocate(byteCount: 64, alignment: 8) }

    /// Keeps a copy of bytes.
    func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        if bytes.count > memory.count || memory.count > max(Self.keptBytes, 4 * bytes.count) {
            memory.deallocate()
            memory = .allocate(byteCount: max(64, bytes.count), alignment: 8)
        }
        memory.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
    }

    /// Keeps the UTF-8 of a text.
    func keep(_ text: String) -> UnsafeRawBufferPointer {
        var text = text
        return text.withUTF8 { keep(UnsafeRawBufferPointer($0)) }
    }

    deinit { memory.deallocate() }
}
