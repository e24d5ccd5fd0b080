import ArgumentParser
import Foundation

/// Selects the flag file.
struct FlagFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The flag file.",
            discussion: "[$\(Tool.environment)_FLAGS; default: habit-store.flagd.json under the root]"
        )
    )
    var file: String?

    /// The settings with this flag file, if one is given.
    ///
    /// - Parameter storeName: the store that is meant; nil for the one in the settings.
    func settings(storeName: String? = nil) async throws -> Settings {
        var options = try UserOptions.parse([])
        (options.flags, options.storeName) = (file, storeName)
        return try await Settings(options)
    }

    /// The settings of the root that this flag file belongs to: the settings' own root if they name the file, or the file's folder if the file has
    /// the name of a root's flag file and lies next to users' stores.
    ///
    /// - Returns: nil if that is unknown.
    func owner(storeName: String? = nil) async throws -> Settings? {
        var options = try UserOptions.parse([])
        options.storeName = storeName
        let settings = try await Settings(options)
        guard let file else { return settings }
        let url = URL(fileURLWithPath: file)
        if url.resolvingSymlinksInPath() == URL(fileURLWithPath: settings.flagFile).resolvingSymlinksInPath() {
            return settings
        }
        let folder = url.deletingLastPathComponent().path
        let hasStores = ["users", "stores"].contains { FileManager.default.fileExists(atPath: folder + "/" + $0) }
        guard url.lastPathComponent == Settings.flagFileName, hasStores else { return nil }
        (options.root, options.flags) = (folder, file)
        return try await Settings(options)
    }

    func path() async throws -> String {
        if let file { return file }
        return try await settings().flagFile
    }
}
