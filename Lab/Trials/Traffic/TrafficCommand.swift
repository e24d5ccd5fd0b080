import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// One of several processes that use a user's store at the same time, for tests.
struct TrafficCommand: ParsableCommand {
    /// The kind of work.
    enum Work: String, CaseIterable, ExpressibleByArgument {
        /// Write until standard input ends, and then print the operations: see ``TrafficLine``.
        case write
        /// Read until standard input ends, and then print the operations.
        case read
        /// Use this many users one after another: see ``ManyUsersReport``.
        case many
        /// Give SQLite's caches this many bytes: see ``CacheReport``.
        case caches
        /// Run out of file descriptors: see ``CrowdedProcess``.
        case crowded

        var needsNumber: Bool { self == .many || self == .caches }
    }

    static let configuration = CommandConfiguration(
        commandName: "traffic",
        abstract: "Use stores together with other processes; started by tests.",
        shouldDisplay: false
    )

    @Argument var work: Work

    @Argument(help: "The root of the users' stores.")
    var root: String

    @Argument(help: "The flag file.")
    var flags: String

    @Argument(help: "The file for the results.")
    var log: String

    @Argument(help: "The number of users or bytes.")
    var number: Int?

    func validate() throws {
        guard work.needsNumber == (number != nil) else {
            throw ValidationError("'many' and 'caches' need a number; the others take none")
        }
    }

    func run() throws { try report().write(to: URL(fileURLWithPath: log)) }

    private func report() throws -> Data {
        switch work {
        case .caches: try CacheReport.make(root: root, budgetBytes: number ?? 0).data()
        case .crowded: Data("\(try CrowdedProcess.run(root: root, flags: flags))".utf8)
        case .many: try ManyUsersReport.make(try stores(), users: number ?? 0).data()
        case .write, .read: Data(try lines().map { $0.description + "\n" }.joined().utf8)
        }
    }

    private func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.advancesByItself = false
        options.gate.cleanShadowReads = 1
        options.logger.logLevel = .critical
        return try UserStores(root: root, flags: flags, schema: HabitSchema.current, options: options)
    }

    private func lines() throws -> [TrafficLine] {
        let store = try stores().store(for: "alice")
        defer { store.close() }
        let isOver = InputEnd()
        var lines: [TrafficLine] = []
        while !isOver.isReached {
            guard work == .read else {
                lines.append(TrafficLine.write(store))
                continue
            }
            lines.append(TrafficLine.read(store))
            // Reads are so fast that without a pause there would be a million of them.
            usleep(500)
        }
        return lines
    }
}
