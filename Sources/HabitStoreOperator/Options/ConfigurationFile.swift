import Configuration
import Foundation
import HabitStore

/// The configuration file, a JSON object of strings.
enum ConfigurationFile {
    static let keys: Set<String> = [
        "root", "storeName", "user", "flags", "servers", "policy", "evidenceKeyFile", "timeZone", "openUsers",
    ]

    /// Reads the file.
    ///
    /// A wrong key or value is refused and not ignored: a misspelt `user` would write into another user's store.
    static func load(path: String) async throws -> any ConfigProvider {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw HabitStoreError(.notFound, "there is no configuration file here", at: .init(path: path))
        }
        guard !isDirectory.boolValue else {
            throw failure(path, "this is a folder; name the configuration file in it")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw HabitStoreError(.permissionDenied, "the configuration file cannot be read", at: .init(path: path))
        }
        let document: Any
        do {
            document = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
        } catch {
            let reason = (error as NSError).userInfo["NSDebugDescription"] as? String ?? error.localizedDescription
            throw failure(path, "the configuration file is not JSON: \(reason)")
        }
        guard let members = document as? [String: Any] else {
            throw failure(path, "the configuration file must contain a JSON object")
        }
        for key in members.keys.sorted() {
            guard keys.contains(key) else {
                throw failure(
                    path,
                    "the configuration file has the unknown key \"\(key)\"; there are \(keys.sorted().joined(separator: ", "))"
                )
            }
            guard members[key] is String else {
                throw failure(path, "the value of \"\(key)\" in the configuration file must be a string")
            }
        }
        do {
            return try await FileProvider<JSONSnapshot>(filePath: .init(path))
        } catch {
            throw failure(path, "the configuration file cannot be understood: \(error)")
        }
    }

    private static func failure(_ path: String, _ message: String) -> CommandFailure {
        .usage("\(path): \(message)")
    }
}
