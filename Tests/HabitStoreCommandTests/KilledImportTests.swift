import Foundation
import Testing

/// An import into a new store that is killed half-way leaves no store that passes for a complete one.
struct KilledImportTests {
    #if CRASH_POINTS
    /// Everything except `info` took the half for all records: `export` of it ended with exit code 0, and so did `copy` and `query`.
    @Test(arguments: ["sqlite", "lmdb"])
    func theHalfIsNotReadAndTheNextRunFinishesIt(_ engine: String) throws {
        let sandbox = try Sandbox()
        let rows = (0..<2_500).map { "\(UUID().uuidString),tag \($0)\r\n" }
        try sandbox.run("tag", "add", "sport").expectSuccess()
        try sandbox.run("export", "--format", "csv", "out").expectSuccess()
        let header = try String(contentsOfFile: sandbox.path("out/Tag.csv"), encoding: .utf8)
        try sandbox.write("out/Tag.csv", header + rows.joined())
        let run = ["import", "out", "--edited", "--into", "\(engine):half"]
        try kill(sandbox, run)
        #expect(try sandbox.run("info", "half").output.contains("backfilling, epoch 0"))
        for reading in [
            ["query", "Tag", "--count", "--store", "half"], ["export", "--format", "json", "whole", "--store", "half"],
            ["history", "half"],
        ] {
            try sandbox.run(reading).expectError(65, containing: "a copy or an import into this store is not finished")
        }
        try sandbox.run("copy", "half", "\(engine):copy").expectError(64, containing: "into the source is not finished")
        // `inspect` recognizes an SQLite file by its header, which is still in the log.
        for looking in engine == "lmdb" ? ["check", "inspect"] : ["check"] {
            let run = try sandbox.run(looking, "half")
            #expect(run.status == 0)
            #expect(run.errors.contains("note: a copy or an import into this store is not finished"), "\(run.errors)")
        }
        try sandbox.write("h/log", "2024-02-29 : Gym : y\n")
        try sandbox.run("import", "h", "--from", "harsh", "--into", "half")
            .expectError(65, containing: "a copy or an import into this store is not finished")
        let rehearsed = try sandbox.run(run + ["--dry-run"])
        rehearsed.expectSuccess()
        #expect(rehearsed.output.contains("2501 would be added"))
        try sandbox.run(run).expectSuccess()
        #expect(try sandbox.run("query", "Tag", "--count", "--store", "half").output == "2501\n")
        try sandbox.run("check", "half").expectSuccess()
        #expect(try sandbox.run("info", "half").output.contains("authoritative, epoch 0"))
    }

    /// A copy into it is refused too, with a remedy.
    @Test func aCopyIntoTheHalfIsRefused() throws {
        let sandbox = try Sandbox()
        try sandbox.run("tag", "add", "sport").expectSuccess()
        try sandbox.run("export", "--format", "csv", "out").expectSuccess()
        let rows = (0..<2_500).map { "\(UUID().uuidString),tag \($0)\r\n" }
        let header = try String(contentsOfFile: sandbox.path("out/Tag.csv"), encoding: .utf8)
        try sandbox.write("out/Tag.csv", header + rows.joined())
        try kill(sandbox, ["import", "out", "--edited", "--into", "sqlite:half"])
        let store = sandbox.folder(of: "alice") + "/store.sqlite"
        try sandbox.run("copy", store, "half").expectError(
            64,
            containing: "an import into the destination is not finished"
        )
    }

    private func kill(_ sandbox: Sandbox, _ arguments: [String]) throws {
        try #require(
            try sandbox.start(arguments, environment: ["HABITSTORE_CRASH_POINT": "filling.batch"]).end().isKilled
        )
    }
    #endif
}
