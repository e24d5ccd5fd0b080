import Foundation
import HabitStore
import HabitTracker
import JournalEngine
import Testing

/// Several processes have the journal open, and are killed.
struct JournalProcessTests {
    private let folder: TestFolder
    private var path: String { folder.path + "/store.journal" }

    init() throws { folder = try TestFolder() }

    private func open() throws -> JournalStore {
        try JournalStore(path: path, schema: HabitSchema.current, access: .create)
    }

    /// Locates the tests' bundle.
    private final class Place {}

    private func start(_ arguments: [String] = []) throws -> (Process, Pipe) {
        let places = [
            Bundle.main.executableURL?.deletingLastPathComponent(),
            Bundle(for: Place.self).bundleURL.deletingLastPathComponent(),
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent(),
        ]
        let found = places.compactMap { $0?.appendingPathComponent("JournalWriter") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        let (process, output) = (Process(), Pipe())
        let binary: URL = try #require(found, "JournalWriter is built beside the tests")
        process.executableURL = binary
        process.arguments = [path] + arguments
        process.standardOutput = output
        try process.run()
        return (process, output)
    }

    /// The outcomes that processes printed for their writes, line by line, without a line that a kill has cut off.
    private func told(_ output: Pipe) -> [[String]] {
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return text.components(separatedBy: "\n").dropLast().map { $0.components(separatedBy: " ") }
    }

    @Test func whatKilledProcessesWereToldIsThere() throws {
        let store = try open()
        defer { store.close() }
        var done: Set<String> = []
        for _ in 0..<4 {
            let processes = try [start(), start()]
            // This process writes and reads at the same time.
            for _ in 0..<20 {
                let draft = Draft(content: "own")
                try store.save(draft)
                done.insert("\(draft.id)")
                Thread.sleep(forTimeInterval: 0.01)
            }
            for (process, _) in processes { kill(process.processIdentifier, SIGKILL) }
            for (process, output) in processes {
                done.formUnion(told(output).filter { $0[0] == "done" }.map { $0[1] })
                process.waitUntilExit()
            }
            let found = Set(try store.all(Draft.self).map { "\($0.id)" })
            #expect(done.isSubset(of: found), "\(done.subtracting(found).count) of \(done.count) writes are lost")
            // A kill may come between a commit and its output: at most once for each process.
            #expect(try store.currentToken().rawValue == Int64(found.count))
        }
        #expect(done.count > 80)
        #expect(try store.check { _ in } == [])
        let again = try open()
        defer { again.close() }
        #expect(try again.fetchCount(FetchDescriptor<Draft>()) == store.fetchCount(FetchDescriptor<Draft>()))
    }

    @Test func aFullDiskTakesNoWriteAndHarmsNone() throws {
        let (process, output) = try start(["60000"])
        let told = told(output)
        process.waitUntilExit()
        let ids = { (word: String) in Set(told.filter { $0[0] == word }.map { $0[1] }) }
        #expect(ids("done").count > 10)
        #expect(told.filter { $0[0] == "gone" }.map { $0[2] } == Array(repeating: "full", count: 5))
        let store = try open()
        defer { store.close() }
        #expect(Set(try store.all(Draft.self).map { "\($0.id)" }) == ids("done"))
        // There is space again, and nothing is left of the failed writes.
        try store.save(Draft(content: "later"))
        #expect(try store.fetchCount(FetchDescriptor<Draft>()) == ids("done").count + 1)
        #expect(try store.check { _ in } == [])
    }
}
