import Foundation
import HabitStore

/// Reads the files that come with a verification.
enum FileBytes {
    /// - Parameters:
    ///   - what: what is expected there, for the error.
    ///   - limit: how many bytes there may be.
    static func read(path: String, what: String, limit: Int) throws -> Data {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw HabitStoreError(.notFound, "there is no file here; \(what) is expected", at: .init(path: path))
        }
        guard !isDirectory.boolValue else {
            throw HabitStoreError(.notAStore, "this is a folder; \(what) is expected", at: .init(path: path))
        }
        do {
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            guard size <= limit else {
                throw HabitStoreError(
                    .limitExceeded,
                    "the file has \(size) bytes; \(what) has \(limit) at most",
                    at: .init(path: path)
                )
            }
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch let error as HabitStoreError {
            throw error
        } catch {
            throw HabitStoreError(.inputOutput, "it cannot be read", at: .init(path: path), underlying: error)
        }
    }
}
