/// How an array that models are fetched into grows.
@usableFromInline
enum FetchedModels {
    /// For so many at most there is room from the beginning.
    static let mostExpected = 1 << 18

    /// The capacity of an array that is full.
    ///
    /// Long arrays grow faster than Swift's own: what moves is all that was read so far, and the memory behind the end of a
    /// large array is none until it is touched.
    @inlinable
    static func capacity(after count: Int) -> Int {
        if count < 16 { return 16 }
        return count < 4_096 ? count * 2 : count * 4
    }
}
