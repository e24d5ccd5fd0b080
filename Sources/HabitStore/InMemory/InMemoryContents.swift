import Foundation

/// Everything that a store in memory begins with, where it is filled from somewhere else.
package struct InMemoryContents: Sendable {
    /// The encoded records of each entity of the schema.
    package var records: [[UUID: EncodedRecord]]
    /// The store's own bookkeeping.
    package var metadata: [String: String] = [:]
    /// The history, oldest first.
    package var history: [HistoryTransaction] = []
    /// The kept digests of each entity, ascending.
    package var digests: [[DigestLeaf]]

    /// Makes contents without records.
    package init(schema: Schema) {
        records = schema.entities.map { _ in [:] }
        digests = schema.entities.map { _ in [] }
    }
}
