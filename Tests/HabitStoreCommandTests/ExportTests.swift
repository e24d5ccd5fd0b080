import Foundation
import HabitStoreTesting
import Testing

/// `habitstore export`, and importing its output.
struct ExportTests {
    @Test(arguments: ["csv", "json"])
    func aUsersRecordsGoOutAndComeBackForAnother(_ format: String) throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "=Run", "--tag", "a,b", "--unit", "").expectSuccess()
        try sandbox.run("checkin", "=Run", "--value", "0.1", "--note", "two\nlines \"🏃\"").expectSuccess()
        try sandbox.run("draft", "add", "", "--attach", "x.png").expectSuccess()
        let out = try sandbox.run("export", "--format", format, "out")
        out.expectSuccess()
        #expect(out.output == "exported 1 Habit, 1 Entry, 1 Tag, 1 Draft\n")
        try sandbox.run("import", "out", "--user", "bob", "--dry-run").expectSuccess()
        let imported = try sandbox.run("import", "out", "--user", "bob", "--format", "json")
        imported.expectSuccess()
        #expect(try imported.json()["differences"] as? Int == 0)
        for listing in [["habit", "list"], ["entry", "list", "=Run"], ["tag", "list"], ["draft", "list"]] {
            let mine = try sandbox.run(listing + ["--format", "json"]).output
            #expect(try sandbox.run(listing + ["--format", "json", "--user", "bob"]).output == mine)
        }
        let again = try sandbox.run("import", "out", "--user", "bob")
        #expect(again.output.contains("Habit: 1 in the export, 0 added, 1 here already"))
        try sandbox.run("import", "out", "--into", "lmdb:copy").expectSuccess()
        let store = sandbox.folder(of: "alice") + "/store.sqlite"
        let verified = try sandbox.run("verify", "sqlite:\(store)", "lmdb:copy", "--format", "json")
        #expect(try verified.json()["verdict"] as? String != "mismatch", "\(verified.output)")
    }

    /// An export made before kills were recorded in a file is imported by this version, as its stores are opened.
    @Test(arguments: ["export", "export.json"], ["sqlite", "lmdb"])
    func anEarlierVersionsExportComesIn(_ name: String, _ old: String) throws {
        let sandbox = try Sandbox()
        let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../fixtures/users-before-recorded-kills.tar.gz").standardized
        let words = ["-xzf", archive.path, "-C", sandbox.url.path, "--strip-components=1", "\(old)-kept"]
        try #require(try ChildProcess.run("tar", words).isSuccess)
        let imported = try sandbox.run("import", name, "--format", "json")
        imported.expectSuccess()
        #expect(try imported.json()["differences"] as? Int == 0)
        let days = try sandbox.run("entry", "list", "Read", "--format", "json")
        #expect(days.output.components(separatedBy: "\"at ").count == 1 + 4)
        let drafts = try sandbox.run("draft", "list", "--format", "json")
        #expect(drafts.output.components(separatedBy: "\"at ").count == 1 + 4)
    }

    /// `--dry-run` counted what would be added but did not check whether it could be: the import after it was refused because of a name that already
    /// existed.
    /// And that import left a file of what it would have cut, although nothing was cut.
    @Test(arguments: ["csv", "json"])
    func aRehearsalIsRefusedForWhatTheImportIsRefusedFor(_ format: String) throws {
        let sandbox = try Sandbox()
        try sandbox.run("tag", "add", "sport").expectSuccess()
        try sandbox.run("habit", "add", "Run", "--tag", "sport").expectSuccess()
        try sandbox.run("checkin", "Run").expectSuccess()
        try sandbox.run("export", "--format", format, "out").expectSuccess()
        // A record refers to one that neither the export nor the store contains.
        let file = format == "csv" ? "out/Entry.csv" : "out"
        let habit = try #require(
            try sandbox.run("query", "Habit", "--format", "json").list("records").first?["id"] as? String
        )
        let text = try String(contentsOfFile: sandbox.path(file), encoding: .utf8)
        let pattern = format == "csv" ? habit : "\"habitID\": \"\(habit)\""
        #expect(text.contains(pattern))
        try sandbox.write(
            file,
            text.replacingOccurrences(
                of: pattern,
                with: pattern.replacingOccurrences(of: habit, with: UUID().uuidString)
            )
        )
        for options in [["--dry-run"], []] {
            let run = try sandbox.run(["import", "out", "--user", "bob"] + options)
            run.expectSuccess()
            #expect(run.output.contains(options.isEmpty ? "were cut" : "1 references lead nowhere, and would be cut"))
        }
        let imports = sandbox.folder(of: "bob") + "/imports"
        #expect(try FileManager.default.contentsOfDirectory(atPath: imports).count == 1)
        try sandbox.run("tag", "add", "sport", "--user", "carol").expectSuccess()
        for options in [["--dry-run"], []] {
            try sandbox.run(["import", "out", "--user", "carol"] + options).expectError(
                64,
                containing: "already has this name"
            )
        }
        #expect(!FileManager.default.fileExists(atPath: sandbox.folder(of: "carol") + "/imports"))
        #expect(try sandbox.run("query", "Habit", "--count", "--user", "carol").output == "0\n")
    }

    /// Two records with the same identifier in the file were reported as wrong usage; the data is wrong.
    @Test func aRecordThatIsThereTwiceIsWrongData() throws {
        let sandbox = try Sandbox()
        try sandbox.run("tag", "add", "sport").expectSuccess()
        try sandbox.run("export", "--format", "csv", "out").expectSuccess()
        let lines = try String(contentsOfFile: sandbox.path("out/Tag.csv"), encoding: .utf8)
            .components(separatedBy: "\r\n")
        try sandbox.write("out/Tag.csv", [lines[0], lines[1], lines[1], ""].joined(separator: "\r\n"))
        try sandbox.run("import", "out", "--into", "sqlite:new").expectError(65, containing: "of this identifier")
    }

    @Test func anExportThatCannotBeWrittenOrReadIsOneLine() throws {
        let sandbox = try Sandbox()
        try sandbox.run("export", "--format", "json", "out").expectError(74)
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("export", "--format", "json", "out").expectSuccess()
        try sandbox.run("export", "--format", "csv", "out").expectError(64, containing: "nothing is written over")
        try sandbox.run("export", "--format", "xml", "other").expectError(64)
        let text = try String(contentsOfFile: sandbox.path("out"), encoding: .utf8)
        try sandbox.write("cut", String(text.dropLast(40)))
        try sandbox.run("import", "cut", "--into", "sqlite:new").expectError(65, containing: "cut short")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("new")))
        try sandbox.write("newer", text.replacingOccurrences(of: "\"version\" : 1", with: "\"version\" : 9"))
        try sandbox.run("import", "newer").expectError(65, containing: "version 9")
    }
}
