import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore info A`.
struct InfoCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Shows a store's metadata and how many records it has."
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The store: sqlite:PATH, lmdb:PATH, or a path.")
    var store: String

    func run() async throws {
        let address = try StoreAddress(argument: store)
        let store = try address.openAsWritten(.readOnly, by: .known)
        defer { store.close() }
        // The target of an unfinished copy or import serves no reads, but has information.
        let (information, counts) = try store.replicaRead { replica in
            let counts = try store.schema.entities.enumerated().map { ($1.name, try replica.count(entity: $0)) }
            return (try replica.information(), counts)
        }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "path": .string(address.path),
                    "engine": .string(address.engine.rawValue),
                    "storeID": .string(information.storeID.uuidString),
                    "lineage": .string(information.lineage.uuidString),
                    "token": .int(Int(information.token.rawValue)),
                    "historyFloor": .int(Int(information.historyFloor.rawValue)),
                    "role": .string(information.role.rawValue),
                    "epoch": .int(information.epoch),
                    "schemaVersion": .string(store.schema.version.description),
                    "counts": .object(Dictionary(uniqueKeysWithValues: counts.map { ($0.0, .int($0.1)) })),
                ])
            )
        case .text:
            var table = TextTable([.init("", canShrink: false), .init("")])
            table.append(["path", address.path])
            table.append(["engine", address.engine.rawValue])
            table.append(["store", information.storeID.uuidString.lowercased()])
            table.append(["lineage", information.lineage.uuidString.lowercased()])
            table.append(["schema", "version \(store.schema.version)"])
            table.append(["token", information.token.description])
            table.append(["history from", String(information.historyFloor.rawValue + 1)])
            table.append(["role", "\(information.role.rawValue), epoch \(information.epoch)"])
            for (name, count) in counts { table.append([name, String(count)]) }
            try Output.write(table.text(Terminal.options()))
        }
    }
}
