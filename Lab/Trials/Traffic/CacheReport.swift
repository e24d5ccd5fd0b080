import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker
import StandardEngines

/// What SQLite's caches came to in a process that read all of some larger users, all of them open.
package struct CacheReport: Codable, Sendable {
    /// How many users were read.
    package var users = 0
    /// How much memory SQLite held at most, in bytes.
    package var mostBytes = 0

    private init() {}

    /// Reads a report; nil where it is none.
    package init?(parsing text: String) {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = report
    }

    /// As JSON.
    func data() throws -> Data { try JSONEncoder().encode(self) }

    /// Writes some three MiB for each of twelve users, and reads it again.
    static func make(root: String, budgetBytes: Int) throws -> CacheReport {
        var options = RolloutOptions()
        options.advancesByItself = false
        options.followsFlags = false
        options.maximumOpenUsers = 12
        options.cacheBudgetBytes = budgetBytes
        options.logger.logLevel = .critical
        let stores = try UserStores(root: root, flags: nil, schema: HabitSchema.current, options: options)
        var report = CacheReport()
        var handles: [UserStore] = []
        for number in 0..<12 {
            let store = try stores.store(for: "user-\(number)")
            let content = String(repeating: "x", count: 3_000)
            try store.insert((0..<1_000).map { Draft(content: "\($0) \(content)") })
            handles.append(store)
        }
        for _ in 0..<2 {
            for store in handles {
                guard try store.all(Draft.self).count == 1_000 else {
                    throw HabitStoreError(.internalInconsistency, "a user lacks drafts")
                }
                report.mostBytes = max(report.mostBytes, SQLiteHabitStore.memoryBytes)
            }
        }
        report.users = stores.openUserCount
        return report
    }
}
