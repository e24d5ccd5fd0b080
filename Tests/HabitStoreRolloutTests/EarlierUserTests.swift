import Foundation
import HabitStore
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Users' folders as the version before copies were fenced has left them, at each stage, on both sides: twelve drafts,
/// and two more for each stage on the way.
struct EarlierUserTests {
    private static let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../fixtures/users-before-fences.tar.gz").standardized

    private func user(_ old: EngineName, _ stage: Stage) throws -> StagedUser {
        let user = try StagedUser(old: old)
        try FileManager.default.createDirectory(atPath: user.root, withIntermediateDirectories: false)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "tar", "-xzf", Self.archive.path, "-C", user.root, "--strip-components=1",
            "\(old.rawValue)-\(stage.rawValue)",
        ]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return user
    }

    @Test(arguments: EngineName.standard, Stage.allCases)
    func theyAreTakenUpWhereTheyAre(old: EngineName, stage: Stage) throws {
        let user = try user(old, stage)
        try user.want(stage.rawValue)
        let stores = try user.stores()
        let status = try stores.status(of: "alice")
        #expect(status.stage == stage)
        #expect(status.problems.isEmpty)
        #expect(status.evidence.isIntact)
        #expect(try stores.examine("alice").isEmpty)
        let drafts = 12 + 2 * (Stage.allCases.firstIndex(of: stage) ?? 0)
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.stage() == stage)
        #expect(try store.all(Draft.self).count == drafts)
        try store.save(Draft(content: "of this version"))
        #expect(try store.all(Draft.self).count == drafts + 1)
        try user.want(stage.rawValue, kill: true)
        store.flags.provider.reload()
        #expect(try store.land())
        #expect(try store.stage() == .off)
        #expect(try store.engine() == old)
        #expect(try store.all(Draft.self).count == drafts + 1)
        try store.save(Draft(content: "and after the kill"))
        #expect(try store.all(Draft.self).count == drafts + 2)
    }
}
