import Foundation
import HabitStore
import HabitTracker

/// Somebody who keeps entries and can follow all of them, ordered by date.
protocol LiveSide: AnyObject {
    var name: String { get }

    /// Durable, in a transaction of its own.
    func insert(_ entry: Entry) throws

    /// Changes the value of an entry, in a transaction of its own.
    func update(_ entry: Entry) throws

    /// Follows all entries by date.
    ///
    /// - Parameter progress: a number that rises with the answers, of the count and of the last entry's value.
    func follow(_ progress: @escaping @Sendable (Int, Double?) -> Int) -> LiveConsumer

    func close() throws
}
