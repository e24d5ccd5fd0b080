import FeatureFlags
import FlagTools
import HabitStore
import HabitStoreRollout

extension RolloutFlags {
    /// The configuration that the product evaluates its flags with.
    static let configuration = FlagConfiguration(killFlags: [kill])

    /// The linter for flag files.
    ///
    /// The names of servers depend on where a command runs. So if servers are possible and the settings name none, an unknown engine is only a
    /// warning.
    static func linter() async -> FlagLinter {
        // Linting needs no settings and must not fail if they are broken.
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
