import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines
import Testing

/// If another program truncated a file that a command was reading, the command crashed and printed registers and memory to the terminal.
struct CutFileTests {
    /// Runs a command whose process is stopped after a while, and continued once its files were changed.
    private func run(
        _ sandbox: Sandbox,
        _ arguments: [String],
        haltedAfter seconds: Double,
        _ meanwhile: (Int32) throws -> Void
    ) throws -> CommandRun {
        let process = try sandbox.start(arguments, output: .discarded)
        Thread.sleep(forTimeInterval: seconds)
        process.signal(SIGSTOP)
        try meanwhile(process.id)
        process.signal(SIGCONT)
        return try process.end()
    }

    /// The outcome depends on where the command was. It never ends by the signal, and prints one line.
    @Test(arguments: ["lmdb", "lmdb-lock", "sqlite-shm"])
    func aReadingCommandEndsInOneLine(file: String) throws {
        let sandbox = try Sandbox()
        let source = try Self.store(sandbox)
        for turn in 0..<8 {
            for name in ["sqlite:\(turn).sqlite", "lmdb:\(turn).lmdb"] {
                try sandbox.run("copy", source, name).expectSuccess()
            }
            let run = try run(
                sandbox,
                ["verify", "sqlite:\(turn).sqlite", "lmdb:\(turn).lmdb"],
                haltedAfter: 0.03 * Double(turn)
            ) { _ in
                truncate(sandbox.path("\(turn).\(file)"), 0)
            }
            #expect(!run.isSignalled, "turn \(turn): \(run.errors)")
            #expect([0, 1, 65, 74].contains(run.status), "turn \(turn): \(run.status) \(run.errors)")
            #expect(run.errors.filter { $0 == "\n" }.count <= 1, "turn \(turn): \(run.errors)")
        }
    }

    /// The signal itself, whatever the command is doing.
    @Test func theSignalIsOneLineAnd74() throws {
        let sandbox = try Sandbox()
        let source = try Self.store(sandbox)
        // Before the command has started, nothing catches the signal; when that is depends on the machine's load.
        let whole =
            try ContinuousClock().measure { try sandbox.run("verify", source, source).expectSuccess() } / .seconds(1)
        var ended = 0
        for turn in 0..<5 {
            let run = try run(sandbox, ["verify", source, source], haltedAfter: whole * (0.4 + 0.1 * Double(turn))) {
                kill($0, SIGBUS)
            }
            #expect(!run.isSignalled, "turn \(turn): \(run.errors)")
            guard run.status == 74 else { continue }
            ended += 1
            #expect(run.errors.hasPrefix("habitstore: error: a store's file was cut off by another program"))
            #expect(run.errors.filter { $0 == "\n" }.count == 1)
        }
        #expect(ended > 0)
    }

    /// A store of several thousand records.
    private static func store(_ sandbox: Sandbox) throws -> String {
        let path = sandbox.path("source.sqlite")
        let store = try StoreAddress(.sqlite, path: path).open(.create, schema: HabitSchema.current)
        defer { store.close() }
        for part in 0..<4 {
            try store.write { transaction in
                for number in 0..<1_000 { try transaction.save(Draft(content: "draft \(part) \(number)")) }
            }
        }
        return "sqlite:\(path)"
    }
}
