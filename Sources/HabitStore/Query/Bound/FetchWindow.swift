/// The requested part of an ordered result, and the one definition of what it leaves.
package struct FetchWindow: Sendable, Hashable {
    /// How many are passed over; not negative.
    package let offset: Int
    /// How many are wanted at most, not negative; nil for all.
    package let limit: Int?

    /// All of it, unless said otherwise; what is negative is 0.
    package init(offset: Int = 0, limit: Int? = nil) {
        self.offset = max(0, offset)
        self.limit = limit.map { max(0, $0) }
    }

    /// Refuses a limit that no fetch can mean.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery``.
    package static func require(limit: Int?, entity: @autoclosure () -> String) throws {
        guard let limit, limit < 0 else { return }
        throw HabitStoreError(
            .invalidQuery,
            "a fetch cannot be limited to \(limit) records; give 0 or more, or nil for all",
            at: .init(entity: entity())
        )
    }

    /// Whether it leaves everything.
    package var isWhole: Bool { offset == 0 && limit == nil }

    /// Whether it leaves nothing, whatever there is.
    package var isEmpty: Bool { limit == 0 }

    /// How many of the first have to be known; nil for all.
    package var end: Int? {
        guard let (end, overflows) = limit?.addingReportingOverflow(offset), !overflows else { return nil }
        return end
    }

    /// How many it leaves of so many.
    package func count(of total: Int) -> Int { min(max(0, total - offset), limit ?? Int.max) }
}
