import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// What came of a process that wrote to many users, one after the other, kept all of their stores, and read them again.
package struct ManyUsersReport: CustomStringConvertible, Codable, Sendable {
    /// How many users' files could be open at once.
    package var limit = 0
    /// How many users were written to.
    package var written = 0
    /// How many users had what was written when they were read again.
    package var found = 0
    package var failures = 0
    package var firstFailure = ""
    package var mostOpenUsers = 0
    /// How many files the process had open at most, as the system counts; 0 where that cannot be asked.
    package var mostOpenFiles = 0

    package var description: String {
        "\(written) users written, \(found) found again, \(failures) failures, \(mostOpenUsers) of \(limit) users and "
            + "\(mostOpenFiles) files open at most"
    }

    private init() {}

    /// Reads a report; nil where it is none.
    package init?(parsing text: String) {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = report
    }

    /// As JSON.
    func data() throws -> Data { try JSONEncoder().encode(self) }

    /// Writes to so many users and reads them. Each tenth of them is brought to the stage `dualwrite`, with both of its
    /// stores open.
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
