import DurableFiles
import Foundation
import HabitStore
import ShadowVerifier

extension QueryFile {
    /// Writes the file anew, for its owner only: beside its place first, so that it is there as a whole or as it was.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` when it cannot be written.
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
