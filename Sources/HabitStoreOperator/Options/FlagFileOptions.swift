import ArgumentParser

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

    /// The file's path.
    func path() async throws -> String {
        if let file { return file }
        return try await settings().flagFile
    }
}
