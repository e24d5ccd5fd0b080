import HabitStore

/// Random conditions over the whole language, as in a fuzz run, for other tests.
public struct RandomFilters: Sendable {
    private var generator: FuzzGenerator

    /// Makes conditions about some data; the seed determines all of them.
    public init(about data: FuzzData, seed: UInt64) {
        generator = FuzzGenerator(FuzzProfile(data), seed: seed)
    }

    /// The next condition on the records of an entity.
    public mutating func next(entity: Int) -> FilterExpression { generator.filter(entity: entity) }
}
