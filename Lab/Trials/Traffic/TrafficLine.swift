import Foundation
import HabitStore
import HabitTracker

/// An operation: its kind, its beginning and end in nanoseconds of CLOCK_MONOTONIC, which all processes share, the number that it wrote or read (-1
/// if
/// none), its outcome, and the record that it wrote.
///
/// In a file it is a line of these fields, separated by spaces: `write 1000 2000 17 ok 123E4567-E89B-12D3-A456-426614174000`.
package struct TrafficLine: CustomStringConvertible, Sendable {
    /// The record in which all writers count.
    package static let counter = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    /// The outcome of a successful operation.
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

    /// Parses a line; nil if the text is not one.
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

    /// Increments the counter, and writes a separate record in the same transaction.
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

    /// Reads the counter.
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
