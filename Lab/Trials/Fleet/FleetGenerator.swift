import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker

/// Many users as an app has them before its rollout: each with a SQLite store that no rollout has touched. A few stores are created and then copied.
struct FleetGenerator {
    /// How much a user has written.
    enum Size: CaseIterable {
        case small, large

        var habits: Int { self == .small ? 2 : 20 }
        var entriesEach: Int { self == .small ? 5 : 100 }
    }

    let root: String
    /// One user in this many is a large one.
    var largeOneIn = 50
    /// How many stores of each size are created.
    private static let templates = 4

    /// The id of a user by number.
    static func user(_ number: Int) -> String { "user-\(number)" }

    func size(_ number: Int) -> Size { number.isMultiple(of: largeOneIn) ? .large : .small }

    /// Makes users numbered from 0; existing users are kept.
    ///
    /// - Throws: the reason why a store cannot be created.
    func make(_ count: Int, progress: (Int) -> Void = { _ in }) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "habitstore-fleet-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var templates: [Size: [Data]] = [:]
        for size in Size.allCases {
            templates[size] = try (0..<Self.templates).map { number in
                try template(size, folder.appendingPathComponent("\(size)-\(number).sqlite").path)
            }
        }
        for number in 0..<count {
            let user = try UserDirectory(root: root, user: Self.user(number))
            let path = user.path + "/store.sqlite"
            guard !FileManager.default.fileExists(atPath: path) else { continue }
            try FileManager.default.createDirectory(
                atPath: user.path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            let stores = templates[size(number)] ?? []
            try stores[number % stores.count].write(to: URL(fileURLWithPath: path))
            if number.isMultiple(of: 1_000) { progress(number) }
        }
        progress(count)
    }

    /// The bytes of a closed store.
    private func template(_ size: Size, _ path: String) throws -> Data {
        let store = try SQLiteHabitStore(path: path, schema: HabitSchema.current, access: .create)
        for number in 0..<size.habits {
            try store.write(author: "app") { transaction in
                let habit = Habit(name: "Habit \(number)")
                try transaction.save(habit)
                for day in 0..<size.entriesEach {
                    let date = Date(timeIntervalSinceReferenceDate: Double(day) * 86_400)
                    try transaction.save(Entry(date: date, note: "day \(day)", habitID: habit.id))
                }
            }
        }
        store.close()
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }
}
