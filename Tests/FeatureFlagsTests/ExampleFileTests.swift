import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// The shipped files under `Flags`.
@Suite struct ExampleFileTests {
    private static let flags = repositoryRoot.appendingPathComponent("Flags")

    private static let keys = [
        "habit-store-backend", "habit-store-kill", "habit-store-new", "habit-store-old", "habit-store-stage",
    ]
    private static let stages = ["off", "dualwrite", "shadow", "live", "rampdown", "complete"]
    private static let linter = FlagLinter(
        stages: [StageOrder(flagKey: "habit-store-stage", values: stages)],
        configuration: FlagConfiguration(killFlags: ["habit-store-kill"])
    )

    private func load(_ name: String) throws -> FlagSnapshot {
        let snapshot = try FlagSnapshot.load(path: Self.flags.appendingPathComponent(name).path)
        #expect(snapshot.quarantined.isEmpty, "\(name)")
        #expect(snapshot.warnings.isEmpty, "\(name)")
        #expect(snapshot.keys == Self.keys, "\(name)")
        let report = try Self.linter.lint(path: Self.flags.appendingPathComponent(name).path)
        #expect(report.findings.map(\.description).isEmpty, "\(name): \(report.findings)")
        #expect(snapshot.boolean("habit-store-kill", default: true).value == false, "\(name)")
        #expect(snapshot.string("habit-store-old", default: "").value == "sqlite", "\(name)")
        #expect(snapshot.string("habit-store-new", default: "").value == "lmdb", "\(name)")
        #expect(snapshot.metadata["flagSetId"] == "habit-store", "\(name)")
        #expect(snapshot.metadata["version"]?.stringValue?.isEmpty == false, "\(name)")
        return snapshot
    }

    private func backend(_ snapshot: FlagSnapshot, _ user: String?) -> EvaluationDetails<String> {
        snapshot.string(
            "habit-store-backend",
            default: "caller",
            context: EvaluationContext(targetingKey: user)
        )
    }

    private static let users = (0..<2000).map { "user-\($0)" }

    @Test func everyExampleHasItsTest() throws {
        let names = try FileManager.default.contentsOfDirectory(
            atPath: Self.flags.appendingPathComponent("examples").path
        )
        #expect(
            names.sorted() == [
                "cohort-app-version.flagd.json", "cohort-named-users.flagd.json", "cohort-percentage.flagd.json",
                "cohort-testflight.flagd.json", "cohort-time-window.flagd.json", "cohorts-together.flagd.json",
                "everyone-on-lmdb.flagd.json", "everyone-on-sqlite.flagd.json", "named-users.flagd.json",
                "percentage.flagd.json", "stage-complete.flagd.json", "stage-dualwrite.flagd.json",
                "stage-live.flagd.json", "stage-off.flagd.json", "stage-rampdown.flagd.json",
                "stage-shadow.flagd.json",
            ]
        )
    }

    @Test func theShippedFileKeepsEveryoneOnSQLiteButThePilot() throws {
        let snapshot = try load("habit-store.flagd.json")
        for user in Self.users + ["pilot", "Pilot-User"] {
            let details = backend(snapshot, user)
            #expect(details.value == "sqlite", "\(user)")
            #expect(details.reason == .targetingMatch, "\(user)")
        }
        #expect(backend(snapshot, "pilot-user").value == "lmdb")
        for nobody in [nil, ""] {
            #expect(backend(snapshot, nobody).value == "sqlite")
            #expect(backend(snapshot, nobody).reason == .default)
        }
        #expect(backend(snapshot, "ada").flagMetadata == ["flagSetId": "habit-store", "version": "2"])
    }

    @Test func raisingTheShippedPercentageMovesUsers() throws {
        let path = Self.flags.appendingPathComponent("habit-store.flagd.json").path
        let shipped = try String(contentsOfFile: path, encoding: .utf8)
        let raised =
            shipped
            .replacingOccurrences(of: #"["lmdb", 0]"#, with: #"["lmdb", 100]"#)
            .replacingOccurrences(of: #"["sqlite", 100]"#, with: #"["sqlite", 0]"#)
        let snapshot = try makeSnapshot(raised)
        for user in Self.users { #expect(backend(snapshot, user).value == "lmdb") }
        #expect(backend(snapshot, nil).value == "sqlite")
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func everyoneIsOnOneEngine(engine: String) throws {
        let snapshot = try load("examples/everyone-on-\(engine).flagd.json")
        for user in Self.users + [nil] {
            let details = backend(snapshot, user)
            #expect(details.value == engine)
            #expect(details.reason == .static)
        }
    }

    @Test func namedUsersAreOnLMDB() throws {
        let snapshot = try load("examples/named-users.flagd.json")
        #expect(backend(snapshot, "ada").value == "lmdb")
        #expect(backend(snapshot, "berta").value == "lmdb")
        for user in Self.users + ["Ada", "ad", "ada ", nil] { #expect(backend(snapshot, user).value == "sqlite") }
    }

    /// The buckets were computed with an independent implementation: user-42 is 8, ada 19, user-7 27, berta 79.
    @Test func aPercentageOfUsersIsOnLMDB() throws {
        let snapshot = try load("examples/percentage.flagd.json")
        #expect(backend(snapshot, "user-42").value == "lmdb")
        #expect(backend(snapshot, "ada").value == "lmdb")
        #expect(backend(snapshot, "user-7").value == "sqlite")
        #expect(backend(snapshot, "berta").value == "sqlite")
        #expect(backend(snapshot, nil).reason == .default)
        let moved = Self.users.count { backend(snapshot, $0).value == "lmdb" }
        #expect((340...460).contains(moved), "\(moved) of 2000")
    }

    private func stage(
        _ snapshot: FlagSnapshot,
        _ user: String?,
        _ attributes: [String: FlagValue] = [:]
    ) -> String {
        let context = EvaluationContext(targetingKey: user, attributes: attributes)
        return snapshot.string("habit-store-stage", default: "caller", context: context).value
    }

    @Test func theShippedFileMovesNobodyToAStage() throws {
        let snapshot = try load("habit-store.flagd.json")
        for user in Self.users + ["pilot-user", nil] { #expect(stage(snapshot, user) == "off") }
    }

    @Test(arguments: stages)
    func everyoneIsAtOneStage(name: String) throws {
        let snapshot = try load("examples/stage-\(name).flagd.json")
        for user in Self.users + [nil] { #expect(stage(snapshot, user) == name) }
    }

    /// A stage's file may follow that of the previous stage, but none before that.
    @Test func eachStageFollowsTheOneBefore() throws {
        func path(_ stage: String) -> String { Self.flags.path + "/examples/stage-\(stage).flagd.json" }
        for (index, new) in Self.stages.enumerated() {
            for (earlier, old) in Self.stages.enumerated() {
                let findings = try Self.linter.lint(path: path(new), against: path(old)).findings
                #expect(findings.map(\.rule) == (index > earlier + 1 ? [.stageJump] : []), "\(old) to \(new)")
            }
        }
    }

    /// The first step of all users is from off: each cohort's file may follow the shipped one.
    @Test(arguments: ["named-users", "testflight", "app-version", "percentage", "time-window"])
    func aCohortsFileMayFollowTheShippedOne(name: String) throws {
        let report = try Self.linter.lint(
            path: Self.flags.path + "/examples/cohort-\(name).flagd.json",
            against: Self.flags.path + "/examples/stage-off.flagd.json"
        )
        #expect(report.findings.isEmpty)
    }

    @Test func namedUsersAreACohort() throws {
        let snapshot = try load("examples/cohort-named-users.flagd.json")
        for user in ["ada", "berta"] { #expect(stage(snapshot, user) == "dualwrite") }
        for user in ["Ada", "ada ", "carl", "", nil] { #expect(stage(snapshot, user) == "off") }
    }

    @Test func aTestFlightGroupIsACohort() throws {
        let snapshot = try load("examples/cohort-testflight.flagd.json")
        #expect(stage(snapshot, "u", ["email": "ada@testflight.example.com"]) == "dualwrite")
        for email: FlagValue in ["ada@example.com", "ada@testflight.example.com.evil.org", "", 5, nil] {
            #expect(stage(snapshot, "u", ["email": email]) == "off", "\(email)")
        }
        #expect(stage(snapshot, "u") == "off")
    }

    @Test func anAppVersionIsACohort() throws {
        let snapshot = try load("examples/cohort-app-version.flagd.json")
        for version in ["2.1.0", "2.1", "2.10.0", "v3", "2.1.1-beta.1"] {
            #expect(stage(snapshot, "u", ["app": ["version": .string(version)]]) == "dualwrite", "\(version)")
        }
        for version in ["2.0.9", "2.1.0-beta.1", "1.99.0", "", "latest", "2.1.0.0"] {
            #expect(stage(snapshot, "u", ["app": ["version": .string(version)]]) == "off", "\(version)")
        }
        #expect(stage(snapshot, "u") == "off")
    }

    @Test func aPercentageIsACohort() throws {
        let snapshot = try load("examples/cohort-percentage.flagd.json")
        let moved = Self.users.count { stage(snapshot, $0) == "dualwrite" }
        #expect((60...150).contains(moved), "\(moved) of 2000")
        #expect(Self.users.allSatisfy { ["dualwrite", "off"].contains(stage(snapshot, $0)) })
        #expect(stage(snapshot, nil) == "off")
    }

    /// From 2026-12-01T00:00:00Z until before 2026-12-08T00:00:00Z.
    @Test func aTimeWindowIsACohort() throws {
        let path = Self.flags.appendingPathComponent("examples/cohort-time-window.flagd.json").path
        _ = try load("examples/cohort-time-window.flagd.json")
        for (time, expected) in [
            (1_796_083_199, "off"), (1_796_083_200, "dualwrite"), (1_796_687_999, "dualwrite"), (1_796_688_000, "off"),
        ] {
            let configuration = FlagConfiguration(clock: { Int64(time) })
            let snapshot = try FlagSnapshot.load(path: path, configuration: configuration)
            #expect(stage(snapshot, "u") == expected, "\(time)")
        }
    }

    @Test func cohortsStandTogetherInOneRule() throws {
        let snapshot = try load("examples/cohorts-together.flagd.json")
        let new: FlagValue = ["version": "2.1.0"]
        #expect(stage(snapshot, "ada", ["app": new]) == "shadow")
        #expect(stage(snapshot, "ada", ["app": ["version": "2.0.0"]]) == "off")
        #expect(stage(snapshot, "ada") == "off")
        #expect(stage(snapshot, "u", ["app": new, "email": "u@testflight.example.com"]) == "dualwrite")
        let moved = Self.users.count { stage(snapshot, $0, ["app": new]) == "dualwrite" }
        #expect((60...150).contains(moved), "\(moved) of 2000")
    }
}
