import Foundation
import Testing

/// Records are referred to by name or by id, and never guessed.
struct ReferenceTests {
    @Test func twoHabitsOfOneNameAreToldApartByID() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("habit", "add", "Run", "--same-name").expectSuccess()
        let ids = try sandbox.run("habit", "list", "--format", "json").list("habits").compactMap { $0["id"] as? String }
        #expect(ids.count == 2)
        let ambiguous = try sandbox.run("checkin", "Run")
        ambiguous.expectError(64, containing: "2 habits have the same name")
        for id in ids { #expect(ambiguous.errors.contains(id.prefix(8).lowercased())) }
        #expect(try sandbox.run("query", "Entry", "--count").output == "0\n")
        try sandbox.run("checkin", String(ids[0].prefix(8)).lowercased()).expectSuccess()
        try sandbox.run("checkin", ids[0]).expectSuccess()
        try sandbox.run("checkin", String(ids[1].prefix(6))).expectSuccess()
        #expect(try sandbox.run("query", "Entry", "habitID == \"\(ids[0])\"", "--count").output == "2\n")
    }

    /// A second habit with the same name was accepted, and from then on no command could name either.
    @Test func aSecondHabitOfANameIsRefused() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        try sandbox.run("habit", "add", "Run").expectError(64, containing: "there is a habit \"Run\" (")
        try sandbox.run("habit", "edit", "Swim", "--name", "Run").expectError(
            64,
            containing: "there is a habit \"Run\" ("
        )
        try sandbox.run("habit", "edit", "Run", "--name", "Run").expectSuccess()
        let habits = try sandbox.run("habit", "list", "--format", "json").list("habits")
        #expect(habits.map { $0["name"] as? String } == ["Run", "Swim"])
    }

    @Test func namesThatDifferInCaseOrBlanksAreDifferentNames() throws {
        let sandbox = try Sandbox()
        for name in ["run", "Run", "Run "] { try sandbox.run("habit", "add", name).expectSuccess() }
        try sandbox.run("checkin", "Run ").expectSuccess()
        let habits = try sandbox.run("habit", "list", "--format", "json").list("habits")
        #expect(habits.map { $0["name"] as? String } == ["Run", "Run ", "run"])
        #expect(habits.map { $0["entryCount"] as? Int } == [0, 1, 0])
    }

    @Test func bothUnicodeFormsOfANameMeanTheSameHabit() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Caf\u{E9}").expectSuccess()
        try sandbox.run("checkin", "Cafe\u{301}").expectSuccess()
    }

    @Test func whatIsNotThereIsAnErrorAndNothingIsWritten() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let before = try sandbox.run("status", "--format", "json").output
        try sandbox.run("checkin", "Walk").expectError(64, containing: "there is no habit \"Walk\"")
        // Too short for an id, and not a name.
        try sandbox.run("habit", "show", "abc").expectError(64)
        try sandbox.run("entry", "delete", "00000000").expectError(64, containing: "there is no entry")
        try sandbox.run("draft", "show", "ffff").expectError(64)
        try sandbox.run("tag", "delete", "x\u{1B}[31m").expectError(64, containing: "x\\u{1B}[31m")
        #expect(try sandbox.run("status", "--format", "json").output == before)
    }
}
