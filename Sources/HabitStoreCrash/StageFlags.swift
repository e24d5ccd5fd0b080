import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// The flag file that says where the user is to be.
struct StageFlags {
    let path: String
    let old: EngineName

    func want(_ stage: Stage, kill: Bool = false) throws {
        let engines = #""variants": {"sqlite": "sqlite", "lmdb": "lmdb"}"#
        let stages = Stage.allCases.map { "\"\($0.rawValue)\": \"\($0.rawValue)\"" }.joined(separator: ", ")
        let text = """
            {"flags": {
              "\(RolloutFlags.stage)": {"state": "ENABLED", "variants": {\(stages)}, "defaultVariant": "\(stage.rawValue)"},
              "\(RolloutFlags.old)": {"state": "ENABLED", \(engines), "defaultVariant": "\(old.rawValue)"},
              "\(RolloutFlags.new)": {"state": "ENABLED", \(engines), "defaultVariant": "\(old.otherStandard.rawValue)"},
              "\(RolloutFlags.kill)": {
                "state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "\(kill ? "on" : "off")"
              }
            }}
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
