import Foundation
import Testing

/// `habitstore serve` becomes another program, which gets the settings that every command finds.
struct ServeCommandTests {
    @Test func withoutTheProgramItSaysHowToBuildIt() throws {
        let sandbox = try Sandbox()
        let run = try sandbox.run("serve", environment: ["PATH": sandbox.path("none")])
        run.expectError(74, containing: "make dashboard")
    }

    @Test func theProgramIsToldTheRootTheFlagsAndTheRest() throws {
        let sandbox = try Sandbox()
        let program = try sandbox.write(
            "bin/habitstore-serve",
            """
            #!/bin/sh
            printf '%s\\n' "$@"
            printf '%s\\n' "$HABITSTORE_TOKEN"
            exit 3
            """
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let flags = try sandbox.write("flags of all.json", "{}")
        let run = try sandbox.run(
            [
                "serve", "--root", "/r", "--flags", flags, "--listen", "[::1]:9", "--host", "a", "--host", "b",
                "--show-users",
                "--time-zone", "Europe/Paris", "--store-name", "notes",
            ],
            environment: ["PATH": "\(sandbox.path("none")):\(sandbox.path("bin"))", "HABITSTORE_TOKEN": "t"]
        )
        #expect(run.status == 3, "\(run.errors)")
        #expect(
            run.output.split(separator: "\n").map(String.init) == [
                "--listen", "[::1]:9", "--root", "/r", "--time-zone", "Europe/Paris", "--store-name", "notes",
                "--flags", flags,
                "--host", "a", "--host", "b", "--show-users", "t",
            ]
        )
    }

    /// The working folder may contain anyone's files, and an empty PATH entry means it.
    @Test func theWorkingFolderIsNotLookedIn() throws {
        let sandbox = try Sandbox()
        let program = try sandbox.write("habitstore-serve", "#!/bin/sh\nexit 0\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        try sandbox.run("serve", environment: ["PATH": ":"]).expectError(74, containing: "make dashboard")
    }

    @Test func aKillOfEverybodyIsALineOfTheFleetsLedger() throws {
        let sandbox = try Sandbox()
        let root = sandbox.path("data/habitstore")
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.write("plan.json", #"{"waves": [{"name": "all", "percent": 100}]}"#)
        try sandbox.run("fleet", "plan", "plan.json").expectSuccess()
        _ = try sandbox.run("rollout", "kill", "--by", "sentinel")
        #expect(FileManager.default.fileExists(atPath: root + "/habit-store.kill"))
        let report = try sandbox.run("fleet", "report")
        #expect(report.output.contains("a kill took effect") && report.output.contains("1 user"), "\(report.output)")
    }
}
