import ArgumentParser
import Foundation

/// Which flag file is meant.
struct FlagFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The flag file.",
            discussion: "[$\(Tool.environment)_FLAGS; default: habit-store.flagd.json under the root]"
        )
    )
    var file: String?

    /// The settings, in which this file counts as the one that is named.
    ///
    /// - Parameter storeName: which one of several stores is meant; nil for what the settings say.
    func settings(storeName: String? = nil) async throws -> Settings {
        var options = try UserOptions.parse([])
        (options.flags, options.storeName) = (file, storeName)
        return try await Settings(options)
    }

    /// The settings of the root whose flag file this is: that of the settings, where they name the file, or the folder in which it lies
    /// under the name of a root's flag file, next to users' stores.
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

    /// The file's path.
    func path() async throws -> String {
        if let file { return file }
        return try await settings().flagFile
    }
}
