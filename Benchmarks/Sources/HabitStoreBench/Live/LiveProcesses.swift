import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines

/// The time from the return of this process's commit until another process's consumer has it, through users' stores.
struct LiveProcesses {
    static let childArgument = "live-child"
    private static let goalMilliseconds = 5.0
    private static let records = 1_000
    /// Per round.
    private static let commits = 100

    private let directory: URL
    private let rounds: Int

    init(_ directory: URL, rounds: Int) { (self.directory, self.rounds) = (directory, rounds) }

    func measure() throws {
        print(
            "\nA draft saved in one process and followed among \(Self.records.grouped) in another one, from the commit's return to the other's"
        )
        print("answer: \(rounds * Self.commits) commits with pauses of 1 to 5 ms.\n")
        print("| stage | answered by | p50, ms | p99, ms | longest, ms | p99 goal | met |")
        print("|---|---|---:|---:|---:|---:|---|")
        for stage in [Stage.off, .live, .complete] {
            let (engine, times) = try times(stage)
            let late = LiveRun.percentile(99, times)
            var cells = [stage.rawValue, engine, LiveRun.text(LiveRun.median(times), 3)]
            cells += [LiveRun.text(late, 3), LiveRun.text(times.max() ?? 0, 3)]
            cells += LiveRun.goal(late, Self.goalMilliseconds)
            print("| \(cells.joined(separator: " | ")) |")
            fflush(nil)
        }
    }

    /// The serving engine, and the milliseconds of each commit.
    private func times(_ stage: Stage) throws -> (engine: String, times: [Double]) {
        let users = try RolloutUsers(directory)
        let stores = try users.stores()
        let store = try stores.store(for: stage.rawValue)
        try store.write(author: nil) { transaction in
            for number in 0..<Self.records { try transaction.insert(Self.draft(number)) }
        }
        _ = try users.store(stores, stage.rawValue, at: stage)
        let child = try TalkingChild([Self.childArgument, directory.path, stage.rawValue])
        guard child.line() == String(Self.records) else { throw BenchError("the other process did not start") }
        var random = SeededGenerator(seed: 3)
        let times = try (0..<rounds * Self.commits).map { number in
            usleep(UInt32(1_000 + random.next() % 4_000))
            try store.save(Self.draft(Self.records + number))
            let returned = ChildProcess.nanoseconds()
            let words = (child.line() ?? "").split(separator: " ").compactMap { UInt64($0) }
            guard words.count == 2, words[0] == Self.records + number + 1 else {
                throw BenchError("the other process reported another change")
            }
            return words[1] > returned ? Double(words[1] - returned) / 1e6 : 0
        }
        try child.end()
        store.close()
        let engine = try stores.currentAddress(of: stage.rawValue).engine
        return (engine == .sqlite ? TableEngine.sqlite.rawValue : TableEngine.lmdb.rawValue, times)
    }

    private static func draft(_ number: Int) -> Draft {
        Draft(content: "draft \(number)", creationDate: Date(timeIntervalSinceReferenceDate: Double(number)))
    }

    /// Follows a user's drafts, and reports the count and arrival time of each answer, until the input ends.
    static func runChild(_ arguments: [String]) {
        do {
            guard arguments.count == 4 else { throw BenchError("\(childArgument) takes a folder and a user") }
            let store = try RolloutUsers(URL(fileURLWithPath: arguments[2])).stores().store(for: arguments[3])
            let drafts = store.results(of: FetchDescriptor<Draft>(sortBy: [SortDescriptor(\.creationDate)]))
            Task.detached {
                do {
                    for try await change in drafts {
                        let instant = ChildProcess.nanoseconds()
                        let line = change.cause == .first ? "" : " \(instant)"
                        FileHandle.standardOutput.write(Data("\(change.records.count)\(line)\n".utf8))
                    }
                } catch { ChildProcess.fail(error) }
            }
            while readLine() != nil {}
        } catch { ChildProcess.fail(error) }
    }
}
