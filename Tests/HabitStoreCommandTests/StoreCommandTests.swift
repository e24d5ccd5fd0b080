import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

/// The commands that use stores by their path.
struct StoreCommandTests {
    /// A store with two habits, created by the tracker.
    private func sandboxWithStore(_ engine: String = "sqlite") throws -> (Sandbox, String) {
        let sandbox = try Sandbox()
        try sandbox.want(engine)
        try sandbox.run("habit", "add", "Run", "--tag", "sport").expectSuccess()
        try sandbox.run("habit", "add", "Read").expectSuccess()
        try sandbox.run("checkin", "Run", "--note", "first").expectSuccess()
        return (sandbox, sandbox.path("data/habitstore/users/u-616c696365/store.\(engine)"))
    }

    @Test(arguments: [("sqlite", "lmdb"), ("lmdb", "sqlite")])
    func aCopyIsVerifiedAndDoneOnce(engine: String, other: String) throws {
        let (sandbox, store) = try sandboxWithStore(engine)
        let copy = "\(other):\(sandbox.path("copy"))"
        let first = try sandbox.run("copy", store, copy)
        first.expectSuccess()
        #expect(first.output == "copied 4 records and 3 history transactions; both stores are at token 3\n")
        let verified = try sandbox.run("verify", store, copy)
        verified.expectSuccess()
        #expect(verified.output.hasPrefix("IDENTICAL: no differences\n"))
        #expect(try sandbox.run("copy", store, copy).output == "nothing to do: both stores are at token 3\n")
        try sandbox.run("checkin", "Read").expectSuccess()
        let skewed = try sandbox.run("verify", store, copy)
        #expect(skewed.status == 1)
        #expect(skewed.output.hasPrefix("NOT COMPARED"))
        #expect(try sandbox.run("copy", store, copy).output.hasPrefix("caught up 2 records and 1 history"))
        #expect(try sandbox.run("verify", store, copy).status == 0)
        // In the opposite direction the destination is already current, and nothing is changed.
        #expect(try sandbox.run("copy", copy, store).output.hasPrefix("nothing to do"))
    }

    @Test func differentStoresAreDifferent() throws {
        let (sandbox, store) = try sandboxWithStore()
        let other = "lmdb:\(sandbox.path("copy"))"
        try sandbox.run("copy", store, other).expectSuccess()
        try sandbox.run("habit", "add", "Only here", environment: ["HABITSTORE_USER": "bob"]).expectSuccess()
        let bob = sandbox.path("data/habitstore/users/u-626f62/store.sqlite")
        let before = try sandbox.state()
        let different = try sandbox.run("verify", store, bob)
        #expect(different.status == 1)
        #expect(different.errors.isEmpty)
        #expect(different.output.hasPrefix("DIFFERENT: "))
        #expect(different.output.contains("missingInB"))
        #expect(!different.output.contains("Only here"))
        let json = try sandbox.run("verify", store, bob, "--format", "json")
        #expect(json.status == 1)
        #expect(try json.json()["verdict"] as? String == "mismatch")
        #expect(try sandbox.state() == before)
        try sandbox.run("copy", store, bob).expectError(64, containing: "another origin")
        #expect(
            try sandbox.state(of: "data/habitstore/users/u-626f62")["store.sqlite"]
                == before["data/habitstore/users/u-626f62/store.sqlite"]
        )
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func readingCommandsWriteNothing(engine: String) throws {
        let (sandbox, store) = try sandboxWithStore(engine)
        let before = try sandbox.state()
        for arguments in [
            ["check", store], ["info", store], ["history", store], ["query", "Habit", "--store", store],
            ["verify", store, store], ["query", "Habit"],
        ] {
            try sandbox.run(arguments).expectSuccess()
            #expect(try sandbox.state() == before, "\(arguments)")
        }
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func aQueryIsFilteredSortedAndLimited(engine: String) throws {
        let (sandbox, store) = try sandboxWithStore(engine)
        func names(_ arguments: String...) throws -> [String?] {
            try sandbox.run(["query", "Habit", "--store", store, "--format", "json"] + arguments).list("records")
                .map { $0["name"] as? String }
        }
        #expect(try names("--sort", "name") == ["Read", "Run"])
        #expect(try names("--sort", "-name") == ["Run", "Read"])
        #expect(try names("--sort", "-name", "--limit", "1") == ["Run"])
        #expect(try names("--sort", "-streak,name", "--offset", "1") == ["Read"])
        #expect(try names("name CONTAINS \"ea\"") == ["Read"])
        #expect(try names("ANY tags { name == \"sport\" }") == ["Run"])
        #expect(try sandbox.run("query", "Entry", "habit.name == \"Run\"", "--store", store, "--count").output == "1\n")
        let plan = try sandbox.run("query", "Habit", "name == \"Run\"", "--store", store, "--explain")
        plan.expectSuccess()
        #expect(plan.output.hasPrefix("native: "))
        let analysis = try sandbox.run("query", "Habit", "name == \"Run\"", "--store", store, "--explain", "--analyze")
        analysis.expectSuccess()
        #expect(analysis.output.contains("\n1 examined, 0 followed through relationships, 1 returned, "))
        #expect(try sandbox.run("query", "Habit", "--store", store, "--analyze").status == 64)
        let record = try #require(
            try sandbox.run("query", "Entry", "--store", store, "--format", "json").list("records").first
        )
        #expect(Set(record.keys) == ["id", "date", "dateReference", "note", "value", "habitID"])
        #expect(record["value"] is NSNull)
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func historyAndInfoTellTokens(engine: String) throws {
        let (sandbox, store) = try sandboxWithStore(engine)
        try sandbox.run("habit", "delete", "Read").expectSuccess()
        let all = try sandbox.run("history", store, "--format", "json").list("transactions")
        #expect(all.map { $0["token"] as? Int } == [1, 2, 3, 4])
        #expect(all.allSatisfy { $0["author"] as? String == "habitstore" })
        let late = try sandbox.run("history", store, "--after", "2", "--limit", "1", "--format", "json")
        #expect(try late.list("transactions").map { $0["token"] as? Int } == [3])
        let last = try #require((all.last?["changes"] as? [[String: Any]])?.first)
        #expect(last["kind"] as? String == "delete")
        #expect((last["tombstone"] as? [String: Any])?["name"] as? String == "Read")
        // The text form contains none of the user's words.
        #expect(!(try sandbox.run("history", store).output.contains("Read")))
        let information = try sandbox.run("info", store, "--format", "json").json()
        #expect(information["token"] as? Int == 4)
        #expect(information["engine"] as? String == engine)
        #expect(information["counts"] as? [String: Int] == ["Habit": 1, "Entry": 1, "Tag": 1, "Draft": 0])
    }

    @Test func aSoundStoreIsSound() throws {
        for engine in ["sqlite", "lmdb"] {
            let (sandbox, store) = try sandboxWithStore(engine)
            let check = try sandbox.run("check", store)
            check.expectSuccess()
            #expect(check.output == "sound: 4 records checked\n")
        }
    }

    /// A damaged log was an error with exit code 65, while other damage is a finding with exit code 1; programs that read the JSON got no findings.
    @Test func aDamagedLogIsAFinding() throws {
        let sandbox = try Sandbox()
        let path = sandbox.path("store.sqlite")
        let address = StoreAddress(.sqlite, path: path)
        let first = try address.open(.create, schema: HabitSchema.current)
        try first.save(Draft(content: "a"))
        first.close()
        let second = try address.open(.readWrite, schema: HabitSchema.current)
        for content in ["b", "c"] { try second.save(Draft(content: content)) }
        let file = try Data(contentsOf: URL(fileURLWithPath: path))
        var log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        second.close()
        log[9] ^= 1
        try file.write(to: URL(fileURLWithPath: sandbox.path("cut.sqlite")))
        try log.write(to: URL(fileURLWithPath: sandbox.path("cut.sqlite-wal")))
        let before = try sandbox.state()
        let check = try sandbox.run("check", "cut.sqlite")
        #expect(check.status == 1 && check.errors.isEmpty, "\(check.errors)")
        #expect(check.output.hasPrefix("DAMAGED: the store cannot be read\n\nits log (cut.sqlite-wal) is damaged"))
        // The command that helps is there whole.
        #expect(check.output.hasSuffix("cut.sqlite-wal.aside`\n"), "\(check.output)")
        let json = try sandbox.run("check", "cut.sqlite", "--format", "json")
        #expect(json.status == 1)
        let findings = try json.list("findings")
        #expect(findings.map { $0["severity"] as? String } == ["damage"])
        #expect(findings.map { $0["kind"] as? String } == ["unreadable"])
        #expect(try json.json()["isDamaged"] as? Bool == true)
        #expect(try json.json()["records"] is NSNull)
        #expect(try sandbox.state() == before)
        // Others still refuse it: they cannot show what is not read.
        try sandbox.run("info", "cut.sqlite").expectError(65, containing: "is damaged")
    }

    @Test func queriesOfAFileAreCompared() throws {
        let (sandbox, store) = try sandboxWithStore()
        let copy = "lmdb:\(sandbox.path("copy"))"
        try sandbox.run("copy", store, copy).expectSuccess()
        let queries = try sandbox.write(
            "queries.json",
            #"{"queries": [{"name": "named", "entity": "Habit", "filter": "name BEGINSWITH \"R\"", "sort": ["-name"]}]}"#
        )
        let report = try sandbox.run("verify", store, copy, "--queries", queries, "--format", "json").json()
        let compared = try #require((report["queries"] as? [[String: Any]])?.first)
        #expect(compared["countA"] as? Int == 2)
        #expect(compared["matches"] as? Bool == true)
        let unknown = try sandbox.write(
            "q.json",
            #"{"queries": [{"name": "q", "entity": "Habit", "filter": "nmae == 1"}]}"#
        )
        try sandbox.run("verify", store, copy, "--queries", unknown).expectError(64, containing: "\"nmae\"")
        try sandbox.run("verify", store, copy, "--queries", sandbox.path("none.json")).expectError(74)
    }
}
