import ArgumentParser
import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker

/// A process that writes to a drill's users while they are moved, until its input ends. Each write that was not refused is a line of its log: the
/// user,
/// the entry, and whether it was acknowledged.
struct FleetWriterChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fleet-writer-child", shouldDisplay: false)

    @Argument var root: String
    @Argument var log: String
    @Option var users: Int
    @Option var seed: UInt64

    /// The pause after each write.
    private static let pauseSeconds = 0.02

    func run() throws {
        let end = InputEnd()
        let stores = try FleetDrillRoot(path: root).stores()
        try Data().write(to: URL(fileURLWithPath: log))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        var random = SeededGenerator(seed: seed)
        while !end.isReached {
            let user = FleetGenerator.user(Int.random(in: 0..<users, using: &random))
            let entry = Entry(note: "drill", habitID: nil)
            var outcome = "written"
            do {
                let store = try stores.store(for: user)
                defer { store.close() }
                try store.write(author: "drill") { try $0.save(entry) }
            } catch let error as HabitStoreError where error.code == .outcomeUnknown {
                outcome = "unknown"
            } catch let error as HabitStoreError where Self.mayRefuse.contains(error.code) {
                continue
            }
            try file.write(contentsOf: Data("\(user) \(entry.id.uuidString) \(outcome)\n".utf8))
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
    }

    /// The errors with which a write may be refused while its user is moved.
    private static let mayRefuse: Set<HabitStoreError.Code> = [.busy, .notAuthoritative]
}
