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
    private let moment: FilterMoment
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
        let moment = FilterMoment()
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
final class FilterMoment {
    private(set) var number: UInt64 = 1

    /// Nothing that was read before counts any more.
    func pass() { number &+= 1 }
}
