import Foundation
import Hashing

extension CoreDataFile {
    /// Identifies the version of the app's model: SHA-256 over the names, numbers and hashes of its entities. It changes when the app
    /// migrates the file, which may give all records new keys.
    var modelHash: String {
        var hash = SHA256()
        for entity in model.entities {
            let text = "\(entity.number) \(entity.name) \(metadata.entityHashes[entity.name] ?? "")\n"
            hash.update(data: Data(text.utf8))
        }
        return hash.finalize().prefix(16).hexadecimal
    }
}
