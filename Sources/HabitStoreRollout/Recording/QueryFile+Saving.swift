import DurableFiles
import Foundation
import HabitStore
import ShadowVerifier

extension QueryFile {
    /// Replaces the file atomically; only its owner may read it.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` if it cannot be written.
    func save(path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(self) + Data("\n".utf8)
        do {
            try DurableFile.replace(path, data, draft: DurableFile.ownDraft(of: path))
        } catch {
            throw HabitStoreError(
                .permissionDenied,
                "the file of queries cannot be written (\(error.reason)); check the folder's permissions and space",
                at: .init(path: path)
            )
        }
    }
}
