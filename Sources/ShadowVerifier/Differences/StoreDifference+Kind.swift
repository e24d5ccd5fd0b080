extension StoreDifference {
    /// The kinds of differences.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// The number of records of an entity.
        case count
        /// A record that only the first store has.
        case missingInB
        /// A record that only the second store has.
        case missingInA
        /// An attribute with different values.
        case attribute
        /// A reference that leads to a record in one store and dangles in the other.
        case dangling
        /// A relationship whose two directions do not agree within one store.
        case inverse
        /// A link that stands in a record more than once.
        case duplicateLink
        /// A query that gives other records.
        case queryRecords
        /// A query that gives the same records in another order.
        case queryOrder
        /// A query that gives another count.
        case queryCount
        /// A query that fails in one store, or in another way.
        case queryError
        /// A store that contradicts itself.
        case damage
        /// A kept digest that is not that of the records below it: the file was changed past the store's transactions.
        case digest
        /// A history transaction that differs, or that only one store has.
        case history
        /// A record that a store's own transactions read otherwise than its file has it.
        case reading
        /// A result that is not the expected one, in both stores alike.
        case unexpected
    }
}
