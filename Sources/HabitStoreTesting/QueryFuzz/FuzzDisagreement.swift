import Foundation
import HabitStore

/// A store's answer that is not Foundation's, with the smallest case that shows it.
public struct FuzzDisagreement: Error, Sendable, CustomStringConvertible {
    /// The seed of the run.
    public let seed: UInt64
    /// The number of the query.
    public let query: Int
    /// The data.
    public let data: String
    /// The store.
    public let subject: String
    /// A test that shows it.
    public let test: String
    /// How many records the smallest case has.
    public let records: Int
    /// How many nodes its condition has.
    public let nodes: Int

    init(seed: UInt64, query: Int, data: String, _ smallest: FuzzCase) {
        self.seed = seed
        self.query = query
        self.data = data
        subject = smallest.subject
        records = smallest.data.count
        nodes = smallest.query.condition.size
        test = FuzzTestPrinter(smallest).test(
            name: "seed\(seed)Query\(query)",
            origin: "seed \(seed), query \(query), data \(data)"
        )
    }

    /// The query's number and the test.
    public var description: String {
        "\(subject) disagrees with Foundation's evaluation at query \(query) of seed \(seed) over \(data):\n\n\(test)"
    }
}
