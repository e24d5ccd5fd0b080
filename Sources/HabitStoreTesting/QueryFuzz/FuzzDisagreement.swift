import Foundation
import HabitStore

/// A store's answer that differs from Foundation's, with the smallest case that shows it.
public struct FuzzDisagreement: Error, Sendable, CustomStringConvertible {
    /// The seed of the run.
    public let seed: UInt64
    /// The number of the query.
    public let query: Int
    /// The name of the data.
    public let data: String
    /// The name of the store.
    public let subject: String
    /// The source of a test that reproduces it.
    public let test: String
    /// The number of records of the smallest case.
    public let records: Int
    /// The number of nodes of the smallest case's condition.
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
