/// The parts in which two descriptors of the same fetch are equal. Predicates that Foundation must evaluate cannot be compared, and
/// are assumed to be equal.
struct FetchMeaning: Hashable {
    private let filter: FilterExpression
    private let isWhole: Bool
    private let order: [BoundQuery.SortKey]
    private let limit: Int?
    private let offset: Int
    private let cursor: PageCursor?

    /// - Throws: that nothing can be ordered as the descriptor says.
    init<Model: PersistentModel>(_ descriptor: FetchDescriptor<Model>, in schema: Schema) throws {
        let lowered = LoweredFilter(descriptor.wanted, schema: schema, evaluatesPredicates: false)
        (filter, isWhole) = (lowered.expression, lowered.isWhole)
        order = try descriptor.order(in: schema)
        (limit, offset, cursor) = (descriptor.fetchLimit, descriptor.fetchOffset, descriptor.cursor)
    }
}
