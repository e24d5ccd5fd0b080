import Foundation
import Testing

/// `habitstore export`, and importing what it wrote.
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
