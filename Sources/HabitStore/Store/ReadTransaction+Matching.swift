import Foundation

extension ReadTransaction {
    /// Whether a model fulfils a condition, with its relationships followed in this transaction. The model need not be stored.
    ///
    /// Outside of a transaction `predicate.evaluate(model)` ends the process where the predicate reads a relationship; this is
    /// the way to ask it: `try store.read { try $0.matches(model, filter) }`.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where evaluating the condition would trap in Swift;
    ///   ``HabitStoreError/Code/transactionEnded`` outside of the transaction's closure or thread;
    ///   ``HabitStoreError/Code/unknownAttribute`` for a name that the entity does not have;
    ///   ``HabitStoreError/Code/invalidValue`` for a model that no store can keep.
    public func matches<M: PersistentModel>(_ model: M, _ filter: Filter<M>) throws -> Bool {
        let matcher = try matcher(of: try prepare(FetchDescriptor(filter: filter)))
        let layout = schema.layouts[try schema.position(of: M.self)]
        var writer = AttributeWriter(layout: layout)
        try model.write(to: &writer)
        return try writer.finish { bytes in
            var reader = RecordView(trusting: bytes, layout: layout).reader
            let isMatch = try matcher.matches(&reader)
            try matcher.rethrow()
            return isMatch
        }
    }

    /// Whether a model fulfils a predicate, with its relationships followed in this transaction; see ``matches(_:_:)``.
    public func matches<M: PersistentModel>(_ model: M, _ predicate: Predicate<M>) throws -> Bool {
        try matches(model, .predicate(predicate))
    }
}
