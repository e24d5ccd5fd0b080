import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker
import StandardEngines

/// The memory of SQLite's caches in a process that read all records of several larger users with all of their stores open.
package struct CacheReport: Codable, Sendable {
    /// The number of users read.
    package var users = 0
    /// SQLite's peak memory in bytes.
    package var mostBytes = 0

    private init() {}

    /// Parses a report; nil if the text is not one.
    package init?(parsing text: String) {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = report
    }

    /// The report as JSON.
    func data() throws -> Data { try JSONEncoder().encode(self) }

    /// Writes about three MiB for each of twelve users, and reads them again.
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
                    throw HabitStoreError(.internalInconsistency, "a user has lost drafts")
                }
                report.mostBytes = max(report.mostBytes, SQLiteHabitStore.memoryBytes)
            }
        }
        report.users = stores.openUserCount
        return report
    }
}
