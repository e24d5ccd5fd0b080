import FeatureFlags
import FlagTools
import HabitStore
import HabitStoreRollout

extension RolloutFlags {
    /// How the product evaluates its flags.
    static let configuration = FlagConfiguration(killFlags: [kill])

    /// Finds in a flag file what its author would not have wanted.
    ///
    /// A server has whatever name it is given where the command is run: where there may be servers and the settings name none, an engine
    /// that is not known is a warning only.
    static func linter() async -> FlagLinter {
        // A lint needs no settings, and is not to fail where they are broken.
        let settings = try? await Settings(UserOptions.parse([]))
        let engines = (settings?.engines ?? Tool.current.engines).names
        let isComplete = Tool.current.servers == nil || engines.count > Tool.current.engines.names.count
        let values = FlagFamily.Values.texts(
            .init("an engine", engines.map(\.rawValue), isComplete: isComplete)
        )
        return FlagLinter(
            stages: [StageOrder(flagKey: stage, values: Stage.allCases.map(\.rawValue))],
            family: FlagFamily(
                first: "habit",
                endings: [
                    "-store-stage": .texts(.init("a stage", Stage.allCases.map(\.rawValue))),
                    "-store-old": values, "-store-new": values, "-store-backend": values,
                    "-store-kill": .kill,
                ],
                pair: .init(from: "-store-old", to: "-store-new"),
                canBeName: { (try? StoreName($0)) != nil }
            ),
            configuration: configuration
        )
    }
}
