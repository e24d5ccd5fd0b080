import Foundation
import HabitStore
import HabitTracker

/// An operation: what it was, when it began and ended in nanoseconds of CLOCK_MONOTONIC, which is the same for all
/// processes, the number that it wrote or read (-1 where it came to none), how it ended, and the record that it wrote.
///
/// In a file it is a line of these, with spaces in between: `write 1000 2000 17 ok 123E4567-E89B-12D3-A456-426614174000`.
package struct TrafficLine: CustomStringConvertible, Sendable {
    /// The record that all writers count in.
    package static let counter = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    /// How an operation ended that succeeded.
    package static let ok = "ok"

    package var isWrite: Bool
    package var begin: UInt64
    package var end: UInt64
    package var number: Int
    /// ``ok``, or the code of the error.
    package var outcome: String
    package var id: UUID

    package var description: String {
        "\(isWrite ? "write" : "read") \(begin) \(end) \(number) \(outcome) \(id.uuidString)"
    }

    /// Reads a line; nil where it is none.
    package init?(parsing line: some StringProtocol) {
        let parts = line.split(separator: " ")
        guard parts.count == 6, let begin = UInt64(parts[1]), let end = UInt64(parts[2]), let number = Int(parts[3]),
            let id = UUID(uuidString: String(parts[5]))
        else { return nil }
        isWrite = parts[0] == "write"
        (self.begin, self.end, self.number, self.id) = (begin, end, number, id)
        outcome = String(parts[4])
    }

    private init(isWrite: Bool, _ operation: (inout Int, UUID) throws -> Void) {
        self.isWrite = isWrite
        id = UUID()
        number = -1
        begin = Self.now()
        do {
            try operation(&number, id)
            outcome = Self.ok
        } catch let error as HabitStoreError {
            outcome = error.code.rawValue
        } catch {
            outcome = "untyped"
        }
        end = Self.now()
    }

    /// Counts one further, and writes a record of its own in the same transaction.
    static func write(_ store: some HabitStore) -> TrafficLine {
        TrafficLine(isWrite: true) { number, id in
            try store.write(author: "traffic") { transaction in
                let last = try transaction.model(Draft.self, id: counter).flatMap { Int($0.content) } ?? 0
                number = last + 1
                let time = Date(timeIntervalSince1970: 0)
                try transaction.save(Draft(id: counter, content: String(number), creationDate: time))
                try transaction.insert(Draft(id: id, content: String(number), creationDate: time))
            }
        }
    }

    /// Reads how far the writers have counted.
    static func read(_ store: some HabitStore) -> TrafficLine {
        TrafficLine(isWrite: false) { number, _ in
            number = try store.read { transaction in
                try transaction.model(Draft.self, id: counter).flatMap { Int($0.content) } ?? 0
            }
        }
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
