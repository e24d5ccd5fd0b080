import Foundation
import Testing

/// `habitstore import FILE`, end to end.
struct ImportFileTests {
    private static let log = """
        2024-02-29 : Gym : y : hard : 1.5
        2024-03-01 : Gym : n : tired : 0
        2024-03-02 : Gym : y

        """

    @Test func aUsersHabitsGetWhatIsNewAndTheReportSaysWhatBecameOfTheRest() throws {
        let sandbox = try Sandbox()
        try sandbox.write("h/habits", "! Body\nGym: 3/7\n")
        try sandbox.write("h/log", Self.log)
        let rehearsal = try sandbox.run("import", "h", "--dry-run")
        rehearsal.expectSuccess()
        #expect(rehearsal.output.contains("2 would be added"))
        let first = try sandbox.run("import", "h", "--format", "json")
        first.expectSuccess()
        let report = try first.json()
        #expect((report["entries"] as? [String: Any])?["added"] as? Int == 2)
        #expect((report["verification"] as? [String: Any])?["isEqual"] as? Bool == true)
        let attachment = try #require(report["attachment"] as? String)
        #expect(attachment.hasPrefix(sandbox.folder(of: "alice") + "/imports/harsh-"))
        #expect(try String(contentsOfFile: attachment, encoding: .utf8).contains("tired"))
        let again = try sandbox.run("import", "h")
        again.expectSuccess()
        #expect(again.output.contains("2 in the source, 0 added, 2 here already"))
        let entries = try sandbox.run("entry", "list", "Gym", "--format", "json").list("entries")
        #expect(
            entries.compactMap { $0["date"] as? String }.sorted() == [
                "2024-02-29T11:00:00.000Z", "2024-03-02T11:00:00.000Z",
            ]
        )
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func aStoreThatIsNamedIsMadeAndKeepsTheRestBesideIt(_ engine: String) throws {
        let sandbox = try Sandbox()
        try sandbox.write("h/habits", "Gym: 3/7\n")
        try sandbox.write("h/log", Self.log)
        let store = "\(engine):\(sandbox.path("s"))"
        try sandbox.run("import", "h", "--into", store, "--dry-run").expectSuccess()
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("s")))
        try sandbox.run("import", "h", "--into", store).expectSuccess()
        #expect(try sandbox.run("query", "Entry", "--count", "--store", store).output == "2\n")
        try sandbox.run("check", store).expectSuccess()
        #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("s.imports")).count == 1)
        // Records edited here stay, and the comparison reports that they differ from the source.
        try sandbox.write("h/log", Self.log.replacingOccurrences(of: "1.5", with: "2.5"))
        let edited = try sandbox.run("import", "h", "--into", store)
        #expect(edited.status == 1)
        #expect(edited.output.contains("1 here and different") && edited.output.contains("NOT VERIFIED"))
        try sandbox.run("import", "h", "--into", store, "--update").expectSuccess()
    }

    @Test func whatCannotBeImportedIsOneLine() throws {
        let sandbox = try Sandbox()
        try sandbox.write("x", "nothing")
        try sandbox.run("import", "x").expectError(65, containing: "no format that is known")
        try sandbox.run("import", "missing").expectError(74, containing: "no file here")
        try sandbox.run("import", "x", "--into", "store").expectError(65)
        try sandbox.run("import", "x", "--into", "sqlite:s", "--user", "bob").expectError(64)
        try sandbox.run("import", "x", "--from", "excel").expectError(64)
        #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.url.path) == ["x"])
    }
}
