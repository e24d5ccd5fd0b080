import Foundation

/// The source of models' computed relationship properties: the transaction that runs on this thread.
///
/// A store sets it while a transaction's closure runs. A model's relationship property is one line:
/// `var habit: Habit? { RelationshipScope.one(\Entry.habit, habitID) }`.
public enum RelationshipScope {
    /// The record that a reference leads to, or nil when the reference is nil or dangles.
    ///
    /// - Precondition: a transaction is running on this thread.
    public static func one<M: PersistentModel, D: PersistentModel>(_ keyPath: KeyPath<M, D?>, _ reference: UUID?) -> D?
    {
        guard let reference else { return nil }
        return resolver(keyPath).record(D.self, reference)
    }

    /// The records that links lead to, ascending by identifier, dangling links left out.
    ///
    /// - Precondition: a transaction is running on this thread.
    public static func linked<M: PersistentModel, D: PersistentModel>(
        _ keyPath: KeyPath<M, [D]>,
        _ links: Set<UUID>
    ) -> [D] {
        let resolver = resolver(keyPath)
        return links.sorted { $0.isBefore($1) }.compactMap { resolver.record(D.self, $0) }
    }

    /// The records on the other side that refer to the record `owner`, ascending by identifier.
    ///
    /// - Precondition: a transaction is running on this thread.
    public static func many<M: PersistentModel, D: PersistentModel>(
        _ keyPath: KeyPath<M, [D]>,
        of owner: UUID
    ) -> [D] {
        resolver(keyPath).records(keyPath, of: owner)
    }

    private static func resolver<M: PersistentModel>(_ keyPath: PartialKeyPath<M>) -> any RelationshipResolver {
        guard let current else {
            // Unlike preconditionFailure, this says its sentence in release builds too.
            fatalError(
                "the relationship \(M.entity.title(of: keyPath)) was read outside of a transaction; read it inside store.read { … }, on its thread. "
                    + "Ask a predicate that reads it by store.read { try $0.matches(model, predicate) }"
            )
        }
        return current
    }
}

/// Follows relationships inside one transaction. Getters cannot throw: an error is kept and thrown by the transaction.
package protocol RelationshipResolver: AnyObject {
    func record<D: PersistentModel>(_ type: D.Type, _ id: UUID) -> D?
    func records<M: PersistentModel, D: PersistentModel>(_ keyPath: KeyPath<M, [D]>, of owner: UUID) -> [D]
}
