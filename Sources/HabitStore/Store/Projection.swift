import Foundation

/// Some attributes of a record.
public struct Projection<Model: PersistentModel>: Sendable {
    /// The record's identifier.
    public let id: UUID
    let values: [Int: Value]
    let schema: Schema

    /// The value of one of the attributes that were asked for; nil when it was not asked for.
    public subscript<V: AttributeConvertible>(_ keyPath: KeyPath<Model, V>) -> V? {
        guard case .attribute(_, let position)? = schema.property(at: keyPath), let value = values[position] else {
            return nil
        }
        return V(attributeValue: value)
    }
}
