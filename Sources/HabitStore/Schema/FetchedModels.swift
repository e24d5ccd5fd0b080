/// How an array that models are fetched into grows.
@usableFromInline
enum FetchedModels {
    /// For so many at most there is room from the beginning.
    static let mostExpected = 1 << 18

    /// The new capacity of a full array.
    ///
    /// Long arrays grow faster than Swift's: growing moves everything read so far, and memory past the end of a large array costs nothing until it is
    /// touched.
    @inlinable
    static func capacity(after count: Int) -> Int {
        if count < 16 { return 16 }
        return count < 4_096 ? count * 2 : count * 4
    }
}
