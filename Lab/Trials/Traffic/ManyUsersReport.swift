import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// The result of a process that wrote to many users one after another, kept all of their stores, and read them again.
package struct ManyUsersReport: CustomStringConvertible, Codable, Sendable {
    /// How many users' files could be open at the same time.
    package var limit = 0
    /// The number of users written to.
    package var written = 0
    /// The number of users whose writes were found again.
    package var found = 0
    package var failures = 0
    package var firstFailure = ""
    package var mostOpenUsers = 0
    /// The process's peak number of open files, as the system counts them; 0 if it does not.
    package var mostOpenFiles = 0

    package var description: String {
        "\(written) users written, \(found) found again, \(failures) failures, \(mostOpenUsers) of \(limit) users and "
            + "\(mostOpenFiles) files open at most"
    }

    private init() {}

    /// Parses a report; nil if the text is not one.
    package init?(parsing text: String) {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = report
    }

    /// The report as JSON.
    func data() throws -> Data { try JSONEncoder().encode(self) }

    /// Writes to this many users and reads them. Every tenth is moved to the stage `dualwrite`, with both stores open.
    static func make(_ stores: UserStores, users: Int) -> ManyUsersReport {
        var report = ManyUsersReport()
        report.limit = RolloutOptions.defaultMaximumOpenUsers(.standard)
        var handles: [UserStore] = []
        for number in 0..<users {
            report.count(stores) { report in
                let store = try stores.store(for: "user-\(number)")
                handles.append(store)
                if number.isMultiple(of: 10) { try store.promote(to: .dualwrite) }
                try store.save(Draft(content: "\(number)"))
                report.written += 1
            }
        }
        for (number, store) in handles.enumerated() {
            report.count(stores) { report in
                if try store.all(Draft.self).map(\.content) == ["\(number)"] { report.found += 1 }
            }
        }
        return report
    }

    private mutating func count(_ stores: UserStores, _ work: (inout Self) throws -> Void) {
        do {
            try work(&self)
        } catch {
            if failures == 0 { firstFailure = "\(error)" }
            failures += 1
        }
        mostOpenUsers = max(mostOpenUsers, stores.openUserCount)
        mostOpenFiles = max(
            mostOpenFiles,
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        )
    }
}
