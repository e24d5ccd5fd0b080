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

    /// The file's path, and the root, under which the sentinel file stands.
    func paths() async throws -> (file: String, root: String) {
        let settings = try await Settings(try UserOptions.parse([]))
        return (file ?? settings.flags ?? settings.root + "/" + Settings.flagFileName, settings.root)
    }

    /// The file's path.
    func path() async throws -> String { try await paths().file }
}
