import Foundation
import Testing

@testable import FeatureFlags

/// The files under `Flags`, as they are shipped.
@Suite struct ExampleFileTests {
    private static let flags = repositoryRoot.appendingPathComponent("Flags")

    private func load(_ name: String) throws -> FlagSnapshot {
        let snapshot = try FlagSnapshot.load(path: Self.flags.appendingPathComponent(name).path)
        #expect(snapshot.quarantined.isEmpty, "\(name)")
        #expect(snapshot.warnings.isEmpty, "\(name)")
        #expect(snapshot.keys == ["habit-store-backend"], "\(name)")
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
                "everyone-on-lmdb.flagd.json", "everyone-on-sqlite.flagd.json", "named-users.flagd.json",
                "percentage.flagd.json",
            ]
        )
    }

    @Test func theShippedFileKeepsEveryoneOnSQLiteButThePilot() throws {
        let snapshot = try load("habit-store.flagd.json")
        for user in Self.users + ["", "pilot", "Pilot-User"] {
            let details = backend(snapshot, user)
            #expect(details.value == "sqlite", "\(user)")
            #expect(details.reason == .targetingMatch, "\(user)")
        }
        #expect(backend(snapshot, "pilot-user").value == "lmdb")
        #expect(backend(snapshot, nil).value == "sqlite")
        #expect(backend(snapshot, nil).reason == .default)
        #expect(backend(snapshot, "ada").flagMetadata == ["flagSetId": "habit-store", "version": "1"])
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

    /// The buckets were worked out with an independent implementation: user-42 is 8, ada 19, user-7 27, berta 79.
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
}
