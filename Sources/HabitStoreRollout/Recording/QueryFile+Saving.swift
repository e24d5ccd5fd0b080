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
        let temporary = path + ".\(UUID().uuidString).new"
        let files = FileManager.default
        // Made with its permissions: nobody else may read it in between either.
        let isMade = files.createFile(atPath: temporary, contents: data, attributes: [.posixPermissions: 0o600])
        guard isMade, rename(temporary, path) == 0 else {
            let reason = String(cString: strerror(errno))
            if isMade { unlink(temporary) }
            throw HabitStoreError(
                .permissionDenied,
                "the file of queries cannot be written (\(reason)); check the folder's permissions and space",
                at: .init(path: path)
            )
        }
    }
}
