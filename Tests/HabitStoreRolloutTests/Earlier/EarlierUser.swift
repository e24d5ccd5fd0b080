import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A user's root as an earlier version left it, in an archive in fixtures/. `scripts/user-folders.sh` says how the archives were made.
struct EarlierUser: CustomTestStringConvertible, Sendable {
    /// The versions that wrote one archive each; the raw value is the archive's name.
    enum Version: String, CaseIterable {
        case beforeFences = "users-before-fences"
        case beforeVouching = "users-before-vouching"
        case withVouching = "users-with-vouching"
        case beforeRecordedKills = "users-before-recorded-kills"
    }

    let version: Version
    let old: EngineName
    /// The stage of the last write.
    let stage: Stage
    /// The folder in the archive, after the old engine's name.
    let name: String

    var testDescription: String { "\(version.rawValue)/\(old.rawValue)-\(name)" }

    /// Users at each stage, and users with a month of evidence.
    static let staged =
        Stage.allCases.flatMap { stage in others(stage.rawValue, at: stage, in: Version.allCases) }
        + others("month", at: .shadow, in: [.beforeRecordedKills])
    /// Users who were killed at `live`.
    static let killed = others("killed", at: .live)
    /// Users whose process died on the way to `live`, between sealing the old store and draining into the new one.
    static let moving = others("moving", at: .shadow)
    /// Users at `live` with a second store at `dualwrite`, named `notes`.
    static let named = others("stores", at: .live, in: [.beforeRecordedKills])
    /// Backups made at `live`, and exports.
    static let kept = others("kept", at: .live, in: [.beforeRecordedKills])

    private static func others(
        _ name: String,
        at stage: Stage,
        in versions: [Version] = [.beforeVouching, .withVouching, .beforeRecordedKills]
    ) -> [EarlierUser] {
        versions.flatMap { version in
            EngineName.standard.map { EarlierUser(version: version, old: $0, stage: stage, name: name) }
        }
    }

    /// Unpacks the root from the archive.
    func unpacked() throws -> StagedUser {
        let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../fixtures/\(version.rawValue).tar.gz").standardized
        let user = try StagedUser(old: old)
        try FileManager.default.createDirectory(atPath: user.root, withIntermediateDirectories: false)
        let words = ["-xzf", archive.path, "-C", user.root, "--strip-components=1", "\(old.rawValue)-\(name)"]
        let run = try ChildProcess.run("tar", words)
        try #require(run.isSuccess, "\(run)")
        return user
    }

    // MARK: Expected content

    /// Expects everything that the earlier version wrote, and `drafts` written since.
    func expectEverything(
        in store: some HabitStore,
        and drafts: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let added = drafts.map { "draft \($0) []" }
        let found = try lines(store)
        #expect(found == (written + added).sorted(), sourceLocation: sourceLocation)
    }

    private var written: [String] {
        let stages = Array(Stage.allCases.prefix { $0 <= stage })
        // The crash sweep wrote the users of the first archive: twelve drafts, and two more for each stage on the way.
        guard version != .beforeFences else { return (1...10 + 2 * stages.count).map { "draft \($0) []" } }
        let last = stages.count - 1
        var lines = [
            "habit Read mind 1/1 pages \(20 + last).0 [evening]", "habit Café ☕️ - 2/7 - - []",
            "tag evening", "tag since \(stage.rawValue)",
        ]
        for (number, stage) in stages.enumerated() {
            // At 8:30 on 20 February 2020, and on the following days.
            let seconds = 1_582_187_400 + number * 86_400
            lines.append("entry \(seconds).0 \(number).5 at \(stage.rawValue) of Read")
            lines.append(#"draft at \#(stage.rawValue) ["\#(stage.rawValue).txt"]"#)
        }
        guard name == "month" else { return lines }
        // From 1 March 2020 on.
        return lines + (1...30).map { "entry \(1_582_965_000 + $0 * 86_400).0 \($0).5 day \($0) of Read" }
    }

    private func lines(_ store: some HabitStore) throws -> [String] {
        let drafts = try store.all(Draft.self).map { "draft \($0.content) \($0.attachments)" }
        guard version != .beforeFences else { return drafts.sorted() }
        let habits = try store.all(Habit.self)
        let tags = try store.all(Tag.self)
        var lines = drafts + tags.map { "tag \($0.name)" }
        lines += habits.map { habit in
            let names = tags.filter { habit.tagIDs.contains($0.id) }.map(\.name).joined(separator: ", ")
            return "habit \(habit.name) \(habit.category ?? "-") \(habit.timesPerPeriod)/\(habit.periodDays) "
                + "\(habit.unit ?? "-") \(habit.target.map { "\($0)" } ?? "-") [\(names)]"
        }
        lines += try store.all(Entry.self).map { entry in
            let habit = habits.first { $0.id == entry.habitID }?.name ?? "-"
            return "entry \(entry.date.timeIntervalSince1970) \(entry.value.map { "\($0)" } ?? "-") "
                + "\(entry.note ?? "-") of \(habit)"
        }
        return lines.sorted()
    }
}
