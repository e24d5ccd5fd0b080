import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// One of several processes that use a user's store at once, for tests: `HabitStoreTraffic write|read ROOT FLAGS LOG`.
///
/// It works until its standard input ends, and then writes down what it did: see ``TrafficLine``.
/// `HabitStoreTraffic many ROOT FLAGS LOG COUNT` uses so many users one after the other: see ``ManyUsersReport``;
/// `HabitStoreTraffic caches ROOT FLAGS LOG BYTES` gives SQLite's caches so much memory: see ``CacheReport``, and
/// `HabitStoreTraffic crowded ROOT FLAGS LOG` comes to the end of its files: see ``CrowdedProcess``.
@main
enum Main {
    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count == 6, arguments[1] == "caches", let bytes = Int(arguments[5]) {
            let report = try CacheReport.make(root: arguments[2], budgetBytes: bytes)
            return try report.data().write(to: URL(fileURLWithPath: arguments[4]))
        }
        if arguments.count == 5, arguments[1] == "crowded" {
            let drafts = try CrowdedProcess.run(root: arguments[2], flags: arguments[3])
            return try Data("\(drafts)".utf8).write(to: URL(fileURLWithPath: arguments[4]))
        }
        let users = arguments.count == 6 && arguments[1] == "many" ? Int(arguments[5]) : nil
        guard users != nil || (arguments.count == 5 && ["write", "read"].contains(arguments[1])) else {
            throw HabitStoreError(
                .invalidValue,
                "usage: HabitStoreTraffic write|read|many|caches|crowded ROOT FLAGS LOG [NUMBER]"
            )
        }
        var options = RolloutOptions()
        options.advancesByItself = false
        options.gate.cleanShadowReads = 1
        options.logger.logLevel = .critical
        let stores = try UserStores(root: arguments[2], flags: arguments[3], options: options)
        if let users {
            let report = ManyUsersReport.make(stores, users: users)
            return try report.data().write(to: URL(fileURLWithPath: arguments[4]))
        }
        let store = try stores.store(for: "alice")
        let isOver = InputEnd()
        var lines: [TrafficLine] = []
        while !isOver.isReached {
            guard arguments[1] == "read" else {
                lines.append(TrafficLine.write(store))
                continue
            }
            lines.append(TrafficLine.read(store))
            // Reads cost next to nothing: without a rest there would be a million of them.
            usleep(500)
        }
        store.close()
        let text = lines.map { $0.description + "\n" }.joined()
        try Data(text.utf8).write(to: URL(fileURLWithPath: arguments[4]))
    }
}
