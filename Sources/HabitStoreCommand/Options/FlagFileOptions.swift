import ArgumentParser
import FeatureFlags

/// Which flag file is meant.
struct FlagFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The flag file.",
            discussion: "[$HABITSTORE_FLAGS; default: habit-store.flagd.json under the root]"
        )
    )
    var file: String?

    /// The file's path, and the sentinel's under the root.
    func paths() async throws -> (file: String, root: String) {
        let settings = try await Settings(try UserOptions.parse([]))
        return (file ?? settings.flags ?? settings.root + "/" + Settings.flagFileName, settings.root)
    }

    func path() async throws -> String { try await paths().file }
}

/// For whom a flag is evaluated.
struct FlagContextOptions: ParsableArguments {
    @Option(help: "The flag's key.")
    var flag: String

    @Option(help: ArgumentHelp("A JSON object, as '{\"targetingKey\": \"ada\", \"app\": {\"version\": \"2.1.0\"}}'."))
    var context = "{}"

    func parsed() throws -> EvaluationContext { try EvaluationContext(json: .init(context.utf8)) }
}
