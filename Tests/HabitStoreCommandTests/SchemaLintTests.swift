import Foundation
import Testing

/// `habitstore schema lint --cloudkit`.
struct SchemaLintTests {
    private let finding = "Tag.name is unique, and CloudKit keeps nothing unique [uniqueConstraint]\n"

    @Test func theSchemaThatShipsIsNotCloudKits() throws {
        let sandbox = try Sandbox()
        let run = try sandbox.run("schema", "lint", "--cloudkit")
        #expect(run.status == 1)
        #expect(run.errors.isEmpty)
        #expect(run.output.contains(finding))
        #expect(run.output.contains("Entry.date is not optional and has no default [requiredWithoutDefault]\n"))
        #expect(try sandbox.state().isEmpty)
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func aStoreIsJudgedByTheSchemaThatItHasWrittenDown(engine: String) throws {
        let sandbox = try Sandbox()
        try sandbox.want(engine)
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let store = sandbox.path("data/habitstore/users/u-616c696365/store.\(engine)")
        let before = try sandbox.state()
        let run = try sandbox.run("schema", "lint", "--cloudkit", "--format", "json", store)
        #expect(run.status == 1)
        let json = try run.json()
        #expect(json["schema"] as? String == store)
        let findings = try #require(json["findings"] as? [[String: Any]])
        #expect(json["count"] as? Int == findings.count)
        #expect(findings.contains { $0["entity"] as? String == "Tag" && $0["rule"] as? String == "uniqueConstraint" })
        #expect(try sandbox.state() == before)
    }

    @Test func whatCannotBeJudgedIsOneError() throws {
        let sandbox = try Sandbox()
        try sandbox.run("schema", "lint").expectError(64, containing: "--cloudkit")
        try sandbox.run("schema", "lint", "--cloudkit", "none.sqlite").expectError(74, containing: "none.sqlite")
        let text = try sandbox.write("text", "not a store")
        try sandbox.run("schema", "lint", "--cloudkit", text).expectError(65)
        try sandbox.run("schema", "lint", "--cloudkit", ".").expectError(65)
    }
}
