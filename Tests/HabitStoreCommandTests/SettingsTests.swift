import Foundation
import Testing

/// The sources of the settings, and their precedence.
struct SettingsTests {
    private func status(_ sandbox: Sandbox, _ arguments: [String], _ environment: [String: String]) throws -> [String:
        Any]
    {
        // Looking creates no user.
        #expect(try sandbox.run(["habit", "add", "Run"] + arguments, environment: environment).status == 0)
        return try sandbox.run(["status", "--format", "json"] + arguments, environment: environment).json()
    }

    @Test func theCommandLineWinsOverTheEnvironmentAndThatOverTheFile() throws {
        let sandbox = try Sandbox()
        try sandbox.write(
            "config/habitstore/config.json",
            #"{"user": "file", "timeZone": "Asia/Tokyo", "root": "file-root"}"#
        )
        let variables = ["HABITSTORE_USER": "environment", "HABITSTORE_TIME_ZONE": "America/New_York"]
        let byOption = try status(sandbox, ["--user", "option", "--time-zone", "Europe/Paris"], variables)
        #expect(byOption["user"] as? String == "option")
        #expect(byOption["timeZone"] as? String == "Europe/Paris")
        let byEnvironment = try status(sandbox, [], variables)
        #expect(byEnvironment["user"] as? String == "environment")
        #expect(byEnvironment["timeZone"] as? String == "America/New_York")
        let file = try sandbox.write("other.json", #"{"timeZone": "Asia/Tokyo"}"#)
        let named = try status(sandbox, ["--config", file], ["HABITSTORE_USER": "x", "HABITSTORE_TIME_ZONE": "UTC"])
        #expect(named["timeZone"] as? String == TimeZone(identifier: "UTC")?.identifier)
        #expect(FileManager.default.fileExists(atPath: sandbox.path("file-root/users")))
    }

    @Test func theFileIsUsedWhereNothingElseSays() throws {
        let sandbox = try Sandbox()
        let flags = try sandbox.write(
            "flags.json",
            #"{"flags": {"habit-store-backend": {"state": "ENABLED", "variants": {"v": "lmdb"}, "defaultVariant": "v"}}}"#
        )
        let root = sandbox.path("there")
        let file = try sandbox.write("config.json", #"{"root": "\#(root)", "flags": "\#(flags)"}"#)
        let found = try status(sandbox, ["--config", file], [:])
        #expect(found["engine"] as? String == "lmdb")
        #expect(FileManager.default.fileExists(atPath: root + "/users/u-616c696365/store.lmdb"))
    }

    @Test(arguments: [
        "", "{", "[]", "5", #"{"user": 5}"#, #"{"user": null}"#, #"{"uesr": "bob"}"#, #"{"timeZone": "Mars/Base"}"#,
        #"{"root": ""}"#, "\u{0}",
    ])
    func aBrokenFileIsOneErrorAndNothingIsMade(text: String) throws {
        let sandbox = try Sandbox()
        let file = try sandbox.write("config.json", text)
        let run = try sandbox.run(
            ["habit", "list", "--config", file],
            environment: ["HABITSTORE_TIME_ZONE": nil, "HABITSTORE_USER": nil]
        )
        run.expectError(64)
        #expect(try sandbox.state().keys.sorted() == ["config.json"])
    }

    @Test func howManyUsersMayBeOpenIsANumberOrOneError() throws {
        let sandbox = try Sandbox()
        for text in ["0", "-1", "many", ""] {
            try sandbox.run(["habit", "list"], environment: ["HABITSTORE_OPEN_USERS": text])
                .expectError(64, containing: "openUsers")
        }
        #expect(try sandbox.state().isEmpty)
        for number in 0..<6 { try sandbox.run("habit", "add", "Run", "--user", "user-\(number)").expectSuccess() }
        let listed = try sandbox.run(
            ["rollout", "advance", "--all", "--jobs", "4"],
            environment: ["HABITSTORE_OPEN_USERS": "1"]
        )
        #expect(listed.output.contains("0 failed, of 6"))
    }

    @Test func aMissingFileThatWasNamedIsAnError() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "list", "--config", "none.json").expectError(74, containing: "none.json")
        try sandbox.run("habit", "list", "--config", ".").expectError(64)
        try sandbox.run("habit", "list", "--time-zone", "Mars/Base").expectError(64, containing: "Mars/Base")
        #expect(try sandbox.state().isEmpty)
    }
}
