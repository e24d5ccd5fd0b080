import ArgumentParser
import FeatureFlags

/// The evaluation context of flags.
struct FlagContextOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A JSON object, as '{\"targetingKey\": \"ada\", \"app\": {\"version\": \"2.1.0\"}}'."))
    var context = "{}"

    func parsed() throws -> EvaluationContext { try EvaluationContext(json: .init(context.utf8)) }
}
