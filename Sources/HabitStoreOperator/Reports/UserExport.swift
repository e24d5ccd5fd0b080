import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreRollout

/// Writes everything that is stored about a user as one JSON document, while reading it: memory use does not grow with the user's data, only with the
/// largest transactions of the history.
struct UserExport {
    static let format = "habitstore-user"
    static let version = 1
    /// How many transactions of the history are read together.
    private static let transactionsAtOnce = 8

    let user: String
    let settings: Settings
    let stores: UserStores
    /// The user's named stores.
    var others: [(settings: Settings, stores: UserStores)] = []
    let progress: (Int, Int) -> Void

    func write(to write: (String) throws -> Void) throws {
        try write("{\n")
        try member("format", JSON.string(Self.format), write)
        try member("version", JSON.int(Self.version), write)
        try member("user", JSON.string(user), write)
        try member("exportedAt", JSON.string(ISODate.instant(Date())), write)
        try writeMembers(write)
        try write(",\n\"stores\" : [")
        var separator = "\n"
        for other in others {
            try write(separator + "{\n")
            try member("name", JSON.optional(other.settings.store?.text), write)
            try UserExport(user: user, settings: other.settings, stores: other.stores, progress: progress).writeMembers(
                write
            )
            try write("\n}")
            separator = ",\n"
        }
        try write("\n]\n}\n")
    }

    /// The user's data in one set of stores.
    private func writeMembers(_ write: (String) throws -> Void) throws {
        try member("status", RolloutStatusReport.json(try stores.status(of: user)), write)
        try member("flags", try flags(), write)
        try member("backups", JSON.array(try stores.backups(of: user).map { .string($0) }), write)
        try writeStore(write)
        try writeEvidence(write)
    }

    /// The user's flag values; null without a flag file.
    private func flags() throws -> JSON {
        guard let path = settings.flags else { return .null }
        let snapshot = try FlagSnapshot.load(path: path, configuration: RolloutFlags.configuration)
        let resolutions = snapshot.resolveAll(context: EvaluationContext(targetingKey: user, attributes: [:]))
        return .array(
            snapshot.keys.compactMap { key in resolutions[key].map { .object(FlagOutcome(flag: key, $0).json) } }
        )
    }

    /// The records and the history, from one snapshot of the serving store.
    private func writeStore(_ write: (String) throws -> Void) throws {
        let address = try stores.currentAddress(of: user)
        let store = try address.openAsWritten(.readOnly, by: settings.engines)
        defer { store.close() }
        try store.read { transaction in
            let information = try transaction.information()
            try member("token", JSON.int(Int(information.token.rawValue)), write)
            try member("lineage", JSON.string(information.lineage.uuidString), write)
            try member("historyFloor", JSON.int(Int(information.historyFloor.rawValue)), write)
            try write("\"data\" : ")
            try InterchangeExport.writeDocument(of: transaction, progress: progress, to: write)
            try write(",\n\"history\" : [")
            var (token, separator) = (information.historyFloor, "\n")
            while true {
                let part = try transaction.fetchHistory(after: token, limit: Self.transactionsAtOnce)
                guard let last = part.last else { break }
                for each in part {
                    try write(separator)
                    try writeTransaction(each, write)
                    separator = ",\n"
                }
                token = last.token
            }
            try write("\n],\n")
        }
    }

    /// Writes changes one by one, because a transaction may have as many as the store has records.
    private func writeTransaction(_ transaction: HistoryTransaction, _ write: (String) throws -> Void) throws {
        let head = try Self.line(JSON.object(transaction.head))
        // The head is an object that is completed with the changes.
        try write(String(head.dropLast()) + ",\"changes\":[")
        for (number, change) in transaction.changes.enumerated() {
            try write((number == 0 ? "" : ",") + (try Self.line(change.json)))
        }
        try write("]}")
    }

    private func writeEvidence(_ write: (String) throws -> Void) throws {
        try write("\"evidence\" : [")
        var separator = "\n"
        try stores.enumerateEvidence(of: user) { file, line in
            let name = try Self.line(JSON.string(file))
            // A line that is no longer a valid record becomes a string.
            let isRecord = line.map { (try? JSONSerialization.jsonObject(with: $0)) is [String: Any] } ?? false
            let text = line.map { String(decoding: $0, as: UTF8.self) }
            let record = isRecord ? text ?? "null" : try Self.line(JSON.optional(text))
            try write("\(separator){\"file\":\(name),\"line\":\(record)}")
            separator = ",\n"
        }
        try write("\n]")
    }

    private func member(_ name: String, _ value: JSON, _ write: (String) throws -> Void) throws {
        let text = try Self.line(value)
        try write("\"\(name)\" : \(text),\n")
    }

    private static func line(_ value: JSON) throws -> String { String(try JSON.line(value).dropLast()) }
}
