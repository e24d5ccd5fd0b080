import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines
import Synchronization

/// Writes to one store from many threads until it is killed, and reports each step immediately.
struct GroupChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group-child",
        abstract: "Write to one store from many threads until this process is killed; started by a sweep.",
        shouldDisplay: false
    )

    @Option(help: "The store.")
    var store: String

    @Option(help: "Its engine.")
    var engine: EngineName

    @Option(help: "The number of the first write.")
    var first: Int

    @Option(help: "How many threads write.")
    var threads: Int

    /// How long a child lives that is not killed.
    private static let lifetimeSeconds = 60.0

    mutating func run() throws {
        let store = try GroupWorkload.open(self.store, engine)
        let next = Atomic<Int>(first)
        let end = Date(timeIntervalSinceNow: Self.lifetimeSeconds)
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            while Date() < end {
                let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
                Report.Line.begun.tell("\(number)")
                do {
                    try store.write(author: "\(number)") { try GroupWorkload.write(number, in: $0) }
                    Report.Line.acknowledged.tell("\(number)")
                } catch is GroupWorkload.GivenUp {
                    Report.Line.failed.tell("\(number) given up")
                } catch {
                    Report.Line.violation.tell("write \(number): \(error)")
                }
            }
        }
    }
}
