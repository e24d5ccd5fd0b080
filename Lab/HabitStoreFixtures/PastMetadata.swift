import Foundation

/// The metadata of stores of the first two schema versions. Frozen like their writers.
enum PastMetadata {
    static func make(_ past: PastContents, identity: UUID) -> [String: String] {
        var metadata = [
            "storeID": identity.uuidString, "lineage": identity.uuidString, "schemaVersion": "\(past.version).0.0",
            "shape.Entry": "319a1651defac28b",
            "shape.Habit": past.version == 1 ? "ce12cbf8a79c27f7" : "58dbf88df3faea83",
            "historyFloor": String(past.migrated.floor), "lastToken": String(past.migrated.token),
        ]
        if past.rawNames.isEmpty { metadata["textForm"] = "nfc" }
        return metadata
    }
}
