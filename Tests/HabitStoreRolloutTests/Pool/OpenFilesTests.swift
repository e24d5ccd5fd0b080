import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing
import Trials

@testable import HabitStoreRollout

/// Many users in a process that may open few files.
@Suite(.timeLimit(.minutes(10)))
struct OpenFilesTests {
    private static let users = 400
    private static let files = 256

    /// Each user needs at least three files, so without the cap a process runs out before the hundredth user.
    @Test func hundredsOfUsersAreServedByAProcessThatMayOpenFewFiles() throws {
        let user = try StagedUser()
        try user.want("dualwrite")
        let log = user.folder.path("log")
        let run = try withFewFiles(["many", user.root, user.flags, log, String(Self.users)])
        #expect(run.isSuccess, "\(run)")
        let report = try #require(ManyUsersReport(parsing: try String(contentsOfFile: log, encoding: .utf8)))
        #expect(report.failures == 0, "\(report.firstFailure)")
        #expect(report.written == Self.users && report.found == Self.users)
        #expect(report.limit == (Self.files - 128) / 16)
        #expect(report.mostOpenUsers == report.limit)
        #expect(report.mostOpenFiles < Self.files)
        print("\(report)")
        // Another process can read what the process wrote.
        let stores = try user.stores()
        for number in [0, 1, 10, Self.users - 1] {
            let store = try stores.store(for: "user-\(number)")
            #expect(try store.all(Draft.self).map(\.content) == ["\(number)"])
        }
    }

    /// Runs traffic in a process that may open few files.
    private func withFewFiles(_ arguments: [String]) throws -> ChildProcess.End {
        let line = "ulimit -n \(Self.files) && exec \"$0\" \"$@\""
        return try ChildProcess.run("/bin/sh", ["-c", line, TrialsExecutable.path, "traffic"] + arguments)
    }

    /// A mirror that failed while the app had no file descriptors left crashed the app: Dispatch allocates what its timers need when the first one is
    /// set, and traps if it cannot. Now that happens before the first user is opened, and the process continues as soon as descriptors are available.
    @Test func aMirrorThatFailsWhereNoFilesAreLeftEndsNobody() throws {
        let user = try StagedUser()
        try user.with { store in try user.bring(store, to: .dualwrite) { _ = try $0.all(Draft.self) } }
        let log = user.folder.path("log")
        let run = try withFewFiles(["crowded", user.root, user.flags, log])
        #expect(run.isSuccess, "\(run)")
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "1")
    }

    /// Each connection may cache 16 MiB: with hundreds of users that would be gigabytes.
    @Test func cachesOfAllUsersTogetherStayWithinTheirBudget() throws {
        let bounded = try caches(budgetBytes: 8 << 20)
        let unbounded = try caches(budgetBytes: 1 << 30)
        #expect(bounded.users == 12 && unbounded.users == 12)
        // Twelve users with more than three MiB each.
        #expect(unbounded.mostBytes > 36 << 20, "\(unbounded.mostBytes)")
        // Besides pages, connections keep their statements and schemas.
        #expect(bounded.mostBytes < 12 << 20, "\(bounded.mostBytes)")
    }

    private func caches(budgetBytes: Int) throws -> CacheReport {
        let folder = try TemporaryFolder()
        let run = try TrialsExecutable.run(
            ["traffic", "caches", folder.path("root"), "", folder.path("log"), String(budgetBytes)]
        )
        #expect(run.isSuccess, "\(run)")
        return try #require(CacheReport(parsing: try String(contentsOfFile: folder.path("log"), encoding: .utf8)))
    }
}
