import Foundation
import RawStoreFiles
import Testing

/// `habitstore verify` with SQLite files of other programs.
struct VerifyTablesTests {
    private static let mapping = """
        {"format": 2, "namespace": "visits", "tables": [
          {"table": "visit", "entity": "Entry", "key": {"column": "uid", "form": "uuid lowercase"},
           "attributes": {"date": {"column": "at", "form": "FORM"}, "value": "amount", "note": "remark"}}
        ]}
        """

    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox() }

    private func makeFile(_ name: String, _ dates: [String], _ sql: String = "") throws {
        let rows = dates.enumerated().map {
            "('6ba7b81\($0)-9dad-11d1-80b4-00c04fd430c8', \($1), \($0).5, 'visit \($0)')"
        }
        try RawDatabase(path: sandbox.path(name)).execute(
            "CREATE TABLE visit (uid TEXT PRIMARY KEY NOT NULL, at, amount REAL, remark TEXT); INSERT INTO visit VALUES "
                + rows.joined(separator: ", ") + ";" + sql
        )
    }

    private func writeMapping(_ name: String, _ form: String) throws -> String {
        try sandbox.write(name, Self.mapping.replacing("FORM", with: form))
    }

    @Test func twoFilesAreComparedAsTheyAre() throws {
        try makeFile("a.db", ["1", "2"])
        try makeFile("b.db", ["1", "2"])
        let equal = try sandbox.run("verify", "a.db", "b.db")
        #expect(equal.status == 0 && equal.output.hasPrefix("IDENTICAL"), "\(equal.output) \(equal.errors)")
        try makeFile("c.db", ["1", "3"], "UPDATE visit SET remark = 'secret'; CREATE TABLE more (id);")
        let run = try sandbox.run("verify", "a.db", "c.db", "--record", "r.jsonl", "--html", "r.html")
        #expect(run.status == 1 && run.output.hasPrefix("DIFFERENT: 4 differences"), "\(run.output) \(run.errors)")
        #expect(run.output.contains("there is no table more in a.db") && !run.output.contains("secret"))
        #expect(try sandbox.run("verify", "list", "--from", "r.jsonl").output.contains("attribute"))
        let json = try sandbox.run("verify", "a.db", "c.db", "--format", "json", "--show-values").json()
        #expect(json["verdict"] as? String == "mismatch")
        let rules = """
            {"rules": [{"name": "more", "reason": "known", "entity": "more", "kind": "declaration", "expires": "9999-12-31"},
                       {"name": "visits", "reason": "known", "entity": "visit", "expires": "9999-12-31"}]}
            """
        #expect(try sandbox.run("verify", "a.db", "c.db", "--ignore", try sandbox.write("i.json", rules)).status == 2)
        for pair in [["a.db", "no.db"], ["no.db", "a.db"]] {
            try sandbox.run(["verify"] + pair).expectError(74, containing: "no.db")
        }
        let same = try sandbox.run("verify", "a.db", "sqlite:a.db")
        #expect(same.status == 0 && same.output.contains("are the same file"))
    }

    /// Dates in two forms are equal if they mean the same instant, and a query has them in the same order.
    @Test func formsAreComparedByMappings() throws {
        try makeFile("a.db", ["1700000000", "1700086400"])
        try makeFile("b.db", ["'2023-11-14 22:13:20.000'", "'2023-11-15 22:13:20.000'"])
        let mappings = (try writeMapping("a.json", "seconds 1970"), try writeMapping("b.json", "date grdb"))
        #expect(try sandbox.run("verify", "a.db", "b.db").status == 1)
        let queries = try sandbox.write(
            "q.json",
            #"{"queries": [{"name": "all", "entity": "Entry", "sort": ["-date"]}]}"#
        )
        let arguments = [
            "verify", "a.db", "b.db", "--mapping", mappings.0, "--mapping", mappings.1, "--queries", queries,
        ]
        let equal = try sandbox.run(arguments)
        #expect(equal.status == 0 && equal.output.contains("all    yes"), "\(equal.output) \(equal.errors)")
        try RawDatabase(path: sandbox.path("b.db")).execute(
            "UPDATE visit SET at = '2023-11-14 22:13:20.001' WHERE amount < 1"
        )
        let late = try sandbox.run(arguments)
        #expect(late.status == 1 && late.output.contains("date differs"), "\(late.output)")
        try sandbox.run("verify", "a.db", "b.db", "--queries", queries).expectError(64, containing: "--mapping")
        // A row whose value does not have its form is a difference, and named.
        try RawDatabase(path: sandbox.path("b.db")).execute("UPDATE visit SET at = 'soon' WHERE amount < 1")
        let odd = try sandbox.run(arguments)
        #expect(odd.status == 1 && odd.output.contains("1 row cannot be compared"), "\(odd.output)")
    }

    @Test(arguments: ["sqlite:s.sqlite", "lmdb:s.lmdb"])
    func aFileIsComparedWithAStoreByAMapping(_ store: String) throws {
        try makeFile("a.db", ["1700000000", "1700086400"])
        let mapping = try writeMapping("a.json", "seconds 1970")
        #expect(try sandbox.run("map", "import", "a.db", mapping, "--into", store).status == 0)
        let path = String(store.split(separator: ":")[1])
        let equal = try sandbox.run("verify", "a.db", path, "--mapping", mapping)
        #expect(equal.status == 0 && equal.output.hasPrefix("IDENTICAL"), "\(equal.output) \(equal.errors)")
        try RawDatabase(path: sandbox.path("a.db")).execute("DELETE FROM visit WHERE amount < 1")
        #expect(try sandbox.run("verify", path, "a.db", "--mapping", mapping).status == 1)
        try sandbox.run("verify", "a.db", path).expectError(65, containing: "map suggest a.db")
        try sandbox.run("verify", path, path, "--mapping", mapping).expectError(
            64,
            containing: "--mapping is for files"
        )
    }
}
