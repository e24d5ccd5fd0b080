import ArgumentParser
import Foundation
import HabitStoreFleet

/// The process that runs a drill's fleet.
struct FleetRunChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fleet-run-child", shouldDisplay: false)

    @Argument var root: String

    func run() throws {
        let drill = FleetDrillRoot(path: root)
        let end = try drill.fleet.run(drill.stores(), by: "the drill", pressure: { nil }) { _ in }
        let outcome: Outcome =
            switch end {
            case .done(let passedOver): Outcome(isDone: true, passedOver: passedOver)
            case .halted(_, let because, let user): Outcome(isDone: false, because: because, user: user)
            }
        print(String(decoding: try JSONEncoder().encode(outcome), as: UTF8.self))
    }

    /// How the run ended.
    struct Outcome: Codable {
        var isDone: Bool
        var passedOver = 0
        var because: String?
        var user: String?
        /// The process's peak memory in bytes.
        var memoryBytes = Self.memory()

        private static func memory() -> Int {
            var usage = rusage()
            #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
            #else
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss * 1_024
            #endif
        }
    }
}
