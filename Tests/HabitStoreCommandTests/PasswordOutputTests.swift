import Foundation
import Testing

/// No output repeats a password, whichever command was given it, and whatever is wrong with the address.
struct PasswordOutputTests {
    /// The commands, with `ADDRESS` for each address.
    private static let commands: [[String]] = [
        ["verify", "ADDRESS", "sqlite:a.sqlite"], ["verify", "sqlite:a.sqlite", "ADDRESS"],
        ["verify", "ADDRESS", "ADDRESS"],
        ["copy", "ADDRESS", "lmdb:b.lmdb"], ["copy", "sqlite:a.sqlite", "ADDRESS"], ["info", "ADDRESS"],
        ["check", "ADDRESS"],
        ["inspect", "ADDRESS"], ["schema", "lint", "ADDRESS"], ["history", "ADDRESS"],
        ["query", "Habit", "--store", "ADDRESS"],
        ["migrate", "ADDRESS"], ["migrate", "ADDRESS", "--dry-run"],
        ["export", "all.json", "--format", "json", "--store", "ADDRESS"],
        ["import", "coredata", "a.sqlite", "--into", "ADDRESS"],
        ["rollout", "retire", "--against", "ADDRESS", "--dry-run"],
        ["server", "check", "ADDRESS"], ["server", "prepare", "ADDRESS"], ["habit", "list", "--servers", "eu=ADDRESS"],
        ["rollout", "status", "--servers", "eu=ADDRESS"], ["rollout", "doctor", "--all", "--servers", "ADDRESS"],
        ["habit", "list", "ADDRESS"], ["ADDRESS"],
    ]

    /// Each command with each address, and both with each form of output.
    @Test(arguments: commands.indices)
    func noPasswordIsRepeated(by number: Int) throws {
        let command = Self.commands[number]
        let sandbox = try Sandbox()
        let addresses = [
            "postgres://me:hunter2@127.0.0.1:1/db#n", "postgresql://me:hunter2@127.0.0.1:1/db#n",
            "POSTGRES://me:hunter2@h/db#n",
            "postgres://me:hunter2@127.0.0.1:1/db", "postgres://me:hun/hunter2@127.0.0.1:1/db#n",
            "postgres://me:p@hunter2@h/db#n",
            "postgres://me:hunter2", "postgres:host=127.0.0.1 port=1 password=hunter2#n", "host=h password=hunter2",
            "postgres://127.0.0.1:1/db?password=hunter2#n", "postgres://127.0.0.1:1/db?p%61ssword=hunter2#n",
            "sqlite:postgres://me:hunter2@h/db",
        ]
        let forms = [[], ["--verbose"], ["--format", "json"]]
        for (place, address) in addresses.enumerated() {
            let form = forms[(number + place) % forms.count]
            let arguments = command.map { $0.replacing("ADDRESS", with: address) }
            let run = try sandbox.run(
                form.first == "--format" && command.contains("--format") ? arguments : arguments + form
            )
            #expect(run.status != 0 || command.contains("status"), "\(arguments): \(run.output)")
            for text in [run.output, run.errors] {
                #expect(!text.contains("hunter2") && !text.contains("hun/"), "\(arguments): \(text)")
            }
        }
    }

    /// A server that does not listen, with the password in its proper place.
    @Test func aFailedConnectionDoesNotRepeatIt() throws {
        let sandbox = try Sandbox()
        let address = "postgres://me@127.0.0.1:1/db?connect_timeout=2#n"
        for command in [
            ["info", address], ["verify", address, address], ["server", "check", "postgresql://me@127.0.0.1:1/db"],
        ] {
            let run = try sandbox.run(command, environment: ["PGPASSWORD": "hunter2"])
            #expect(run.status != 0)
            #expect(!(run.output + run.errors).contains("hunter2"))
        }
    }

    /// The second store's address was not parsed like the first one's, and was used as a path.
    @Test func bothStoresOfAVerificationAreReadAlike() throws {
        let sandbox = try Sandbox()
        let address = "postgresql://127.0.0.1:1/db?connect_timeout=2#n"
        #expect(try sandbox.run("habit", "add", "Run").status == 0)
        let store = try #require(
            try FileManager.default.subpathsOfDirectory(atPath: sandbox.url.path).first { $0.hasSuffix(".sqlite") }
        )
        let runs = [
            try sandbox.run("verify", address, "sqlite:" + sandbox.path(store)),
            try sandbox.run("verify", "sqlite:" + sandbox.path(store), address),
        ]
        for run in runs {
            #expect(run.errors.contains("//127.0.0.1:1/db"), "\(run.errors)")
            #expect(!run.errors.contains("there is no store here"), "\(run.errors)")
        }
        #expect(runs[0].status == runs[1].status)
    }

    @Test func aReasonDoesNotKeepIt() throws {
        let sandbox = try Sandbox()
        let root = ["--root", sandbox.path("root")]
        #expect(try sandbox.run(["habit", "add", "Run"] + root).status == 0)
        try sandbox.write("plan.json", "{}")
        #expect(try sandbox.run(["fleet", "plan", sandbox.path("plan.json")] + root).status == 0)
        let reason = "see postgres://me:hunter2@h/db"
        #expect(try sandbox.run(["fleet", "halt", "--because", reason] + root).status == 0)
        #expect(try sandbox.run(["rollout", "evidence", "reset", "--force", "--because", reason] + root).status == 0)
        for (name, data) in try sandbox.state() {
            #expect(!String(decoding: data, as: UTF8.self).contains("hunter2"), "\(name)")
        }
    }
}
