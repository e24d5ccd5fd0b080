import HabitStore

/// Random conditions over the whole language, as a fuzz run makes them up, for whoever has something else to ask them of.
public struct RandomFilters: Sendable {
    private var generator: FuzzGenerator

    /// Conditions about some data; all of them follow from the seed.
    public init(about data: FuzzData, seed: UInt64) {
        generator = FuzzGenerator(FuzzProfile(data), seed: seed)
    }

    /// The next condition on the records of an entity.
    public mutating func next(entity: Int) -> FilterExpression { generator.filter(entity: entity) }
}
