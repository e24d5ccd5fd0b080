import Foundation
import HabitStore
import HabitStoreTraffic
import Testing

@testable import HabitStoreRollout

/// Many users in a process that may open few files.
@Suite(.timeLimit(.minutes(10)))
struct OpenFilesTests {
    private static let users = 2_000
    private static let files = 256

    /// A process without the cap came to the end of its files at some sixty users with this limit.
    @Test func twoThousandUsersAreServedByAProcessThatMayOpenFewFiles() throws {
        let user = try StagedUser()
        try user.want("dualwrite")
        let log = user.folder.path("log")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "ulimit -n \(Self.files) && exec \"$0\" \"$@\"", try TrafficProcess.binary("HabitStoreTraffic").path,
            "many", user.root, user.flags, log, String(Self.users),
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let report = try #require(ManyUsersReport(parsing: try String(contentsOfFile: log, encoding: .utf8)))
        #expect(report.failures == 0, "\(report.firstFailure)")
        #expect(report.written == Self.users && report.found == Self.users)
        #expect(report.limit == (Self.files - 128) / 16)
        #expect(report.mostOpenUsers == report.limit)
        #expect(report.mostOpenFiles < Self.files)
        print("\(report)")
        // What the process wrote is on the disk, for another one to read.
        let stores = try user.stores()
        for number in [0, 1, 10, Self.users - 1] {
            let store = try stores.store(for: "user-\(number)")
            #expect(try store.all(Draft.self).map(\.content) == ["\(number)"])
        }
    }
}
