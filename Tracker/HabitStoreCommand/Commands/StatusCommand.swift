import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitStoreRollout

/// `habitstore status`.
struct StatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Shows which engine a user is on, which one the flag file wants, why they differ, and how many records there are."
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let store = tracker.store
        let (stage, engine) = (try store.stage(), try store.engine())
        let reason = try tracker.stores.status(of: store.user).whyNotThere(user: ShellWord.quoted(store.user))
        let (information, counts) = try tracker.read { transaction in
            let counts = try transaction.schema.entities.map {
                ($0.name, try transaction.countRecords(RecordQuery(entity: $0.name)))
            }
            return (try transaction.information(), counts)
        }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "user": .string(store.user),
                    "engine": .string(engine.rawValue),
                    "wanted": .optional(store.wantedEngine?.rawValue),
                    "stage": .string(stage.rawValue),
                    "wantedStage": .optional(store.wantedStage?.rawValue),
                    "reason": .optional(reason),
                    "mirror": .string(store.mirrorStatus.description),
                    "notes": .array(store.notes.map { .string($0) }),
                    "token": .int(Int(information.token.rawValue)),
                    "epoch": .int(information.epoch),
                    "timeZone": .string(tracker.timeZone.identifier),
                    "counts": .object(Dictionary(uniqueKeysWithValues: counts.map { ($0.0, .int($0.1)) })),
                ])
            )
        case .text:
            var table = TextTable([.init("", canShrink: false), .init("")])
            table.append(["user", store.user])
            table.append(["engine", engine.rawValue])
            table.append(["wanted", store.wantedEngine?.rawValue ?? "no change"])
            table.append(["stage", stage.rawValue])
            table.append(["wanted stage", store.wantedStage?.rawValue ?? "no change"])
            table.append(["mirror", store.mirrorStatus.description])
            if let reason { table.append(["reason", reason]) }
            table.append(["token", information.token.description])
            table.append(["time zone", tracker.timeZone.identifier])
            for (name, count) in counts { table.append([name, String(count)]) }
            try Output.write(table.text(Terminal.options()))
        }
    }
}
