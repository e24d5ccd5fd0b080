import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker
import StandardEngines

/// The process that opens a number of users and measures itself.
struct ScaleChild {
    static let argument = "scale-child"
    /// The number of reads of open users, and of random ones.
    private static let reads = 2_000

    static func run(_ arguments: [String]) {
        do {
            guard arguments.count == 4, let count = Int(arguments[3]), count > 0 else {
                throw BenchError("\(argument) takes a folder and a number of users")
            }
            print(try ScaleChild(URL(fileURLWithPath: arguments[2]), count).row())
        } catch {
            FileHandle.standardError.write(Data("habitstore-bench: error: \(error)\n".utf8))
            exit(1)
        }
    }

    private let stores: UserStores
    private let count: Int

    private init(_ folder: URL, _ count: Int) throws {
        stores = try RolloutUsers(folder).stores()
        self.count = count
    }

    private func row() throws -> String {
        let before = ProcessFigures()
        var handles: [UserStore] = []
        handles.reserveCapacity(count)
        var first: [Double] = []
        for number in 0..<count {
            first.append(
                try time {
                    let store = try stores.store(for: ScaleRun.user(number))
                    try read(store)
                    handles.append(store)
                }
            )
        }
        let last = handles[count - 1]
        let open = try (0..<Self.reads).map { _ in try time { try read(last) } }
        var number = 0
        let random = try (0..<Self.reads).map { _ in
            number = (number &* 1_103_515_245 &+ 12_345) & 0x7FFF_FFFF
            return try time { try read(handles[number % count]) }
        }
        let after = ProcessFigures()
        guard stores.openUserCount <= RolloutOptions.defaultMaximumOpenUsers(.standard) else {
            throw BenchError("\(stores.openUserCount) users are open")
        }
        let perHandle = (after.ownBytes - before.ownBytes) / Double(count) / 1_024
        let cells = [
            String(stores.openUserCount), Self.text(quantile(first, 0.5), 2), Self.text(quantile(first, 0.99), 2),
            Self.text(quantile(open, 0.5) * 1_000, 1), Self.text(quantile(random, 0.5) * 1_000, 0),
            Self.text(quantile(random, 0.99) * 1_000, 0), Self.text(after.ownBytes / 1_048_576, 0),
            Self.text(perHandle, 1), Self.text(Double(SQLiteHabitStore.memoryBytes) / 1_048_576, 1),
            Self.text(after.mappedBytes / 1_048_576, 0), String(after.files), String(after.maps),
            Self.text(after.addressBytes / 1_073_741_824, 0),
        ]
        return cells.joined(separator: " | ")
    }

    private func read(_ store: UserStore) throws {
        guard try store.fetchCount(FetchDescriptor<Habit>()) == ScaleRun.habits else {
            throw BenchError("a user has the wrong records")
        }
    }

    /// The duration in milliseconds.
    private func time(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .milliseconds(1)
    }

    private func quantile(_ times: [Double], _ part: Double) -> Double {
        times.sorted()[min(times.count - 1, Int(Double(times.count) * part))]
    }

    private static func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
