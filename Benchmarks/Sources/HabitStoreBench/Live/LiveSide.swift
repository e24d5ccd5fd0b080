import Foundation
import HabitStore
import HabitTracker

/// A store of entries that can be followed, ordered by date.
protocol LiveSide: AnyObject {
    var name: String { get }

    /// Inserts an entry durably, in a separate transaction.
    func insert(_ entry: Entry) throws

    /// Changes the value of an entry, in a separate transaction.
    func update(_ entry: Entry) throws

    /// Follows all entries by date.
    ///
    /// - Parameter progress: computes a number that rises with the answers, from the count and the last entry's value.
    func follow(_ progress: @escaping @Sendable (Int, Double?) -> Int) -> LiveConsumer

    func close() throws
}
