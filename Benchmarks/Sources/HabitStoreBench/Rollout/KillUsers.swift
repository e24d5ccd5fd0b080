import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines
import Synchronization

/// The time after the creation of the sentinel file during which the killed engine still serves operations, over many users in several processes.
/// Each
/// process has as many users' stores open as its file limit allows.
struct KillUsers {
    static let childArgument = "kill-child"

    private static let goalMilliseconds = 10.0
    private static let usersPerProcess = 2_000
    private static let secondsAfter = 3.0

    private let directory: URL
    private let processes: Int

    init(_ directory: URL) {
        self.directory = directory
        processes = ProcessInfo.processInfo.environment["KILL_PROCESSES"].flatMap(Int.init) ?? 1
    }

    func measure() throws {
        let users = try RolloutUsers(directory)
        try prepare(users)
        let children = try (0..<processes).map { try TalkingChild([Self.childArgument, directory.path, String($0)]) }
        for child in children { guard child.line() == "ready" else { throw BenchError("a process did not start") } }
        usleep(500_000)
        let instant = ChildProcess.nanoseconds()
        guard FileManager.default.createFile(atPath: RolloutFlags.sentinelPath(root: users.root), contents: nil) else {
            throw BenchError("cannot create the sentinel file")
        }
        for child in children { child.send("\(instant)\n") }
        let lines = children.flatMap { child in (child.line() ?? "").split(separator: " ").compactMap { Double($0) } }
        for child in children { child.process.waitUntilExit() }
        guard lines.count == processes * Self.usersPerProcess else { throw BenchError("a process failed") }
        let sorted = lines.sorted()
        let late = sorted[sorted.count * 99 / 100]
        print(
            "\nThe sentinel file is created while \(sorted.count) users at live are read in \(processes) processes: how long"
        )
        print("afterwards the killed engine served a user's last operation; 0 if it served none.\n")
        print("| p50, ms | p99, ms | longest, ms | p99 goal | met |")
        print("|---:|---:|---:|---:|---|")
        let cells = [sorted[sorted.count / 2], late, sorted[sorted.count - 1]].map { String(format: "%.2f", $0) }
        print("| \(cells.joined(separator: " | ")) | ≤ 10 | \(late <= Self.goalMilliseconds ? "yes" : "no") |")
    }

    /// Moves one user to `live`, and makes the others by copying it.
    private func prepare(_ users: RolloutUsers) throws {
        let store = try users.store(try users.stores(), Self.user(0, 0), at: .live)
        try store.save(Habit(name: "Run"))
        store.close()
        let files = FileManager.default
        let template = try UserDirectory(root: users.root, user: Self.user(0, 0)).path
        for process in 0..<processes {
            for number in 0..<Self.usersPerProcess where process + number > 0 {
                let user = Self.user(process, number)
                let folder = try UserDirectory(root: users.root, user: user).path
                try files.copyItem(atPath: template, toPath: folder)
                try Data(user.utf8).write(to: URL(fileURLWithPath: folder + "/user"))
            }
        }
    }

    private static func user(_ process: Int, _ number: Int) -> String { "user-\(process)-\(number)" }

    // MARK: A process

    /// Reads its users in turn until some time after the sentinel file was created.
    static func runChild(_ arguments: [String]) {
        do {
            let users = try RolloutUsers(URL(fileURLWithPath: arguments[2]))
            let stores = try users.stores(followsFlags: true) { $0.maximumOpenUsers = usersPerProcess }
            let number = Int(arguments[3]) ?? 0
            let open = try (0..<usersPerProcess).map { try stores.store(for: user(number, $0)) }
            var last = [UInt64](repeating: 0, count: open.count)
            FileHandle.standardOutput.write(Data("ready\n".utf8))
            // The move to the old store begins a new epoch.
            let epochs = try open.map { try $0.read { try $0.information().epoch } }
            let killed = Mutex<UInt64>(0)
            Thread.detachNewThread { killed.withLock { $0 = readLine().flatMap(UInt64.init) ?? 1 } }
            var (instant, next) = (UInt64(0), 0)
            while instant == 0 || ChildProcess.nanoseconds() < instant + UInt64(secondsAfter * 1e9) {
                let epoch = try open[next].read { try $0.information().epoch }
                if epoch == epochs[next] { last[next] = ChildProcess.nanoseconds() }
                next = (next + 1) % open.count
                if instant == 0 { instant = killed.withLockIfAvailable { $0 } ?? 0 }
            }
            let late = last.map { $0 > instant ? Double($0 - instant) / 1e6 : 0 }
            FileHandle.standardOutput.write(Data((late.map { "\($0)" }.joined(separator: " ") + "\n").utf8))
        } catch { ChildProcess.fail(error) }
    }
}
