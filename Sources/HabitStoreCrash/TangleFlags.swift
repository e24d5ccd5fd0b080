import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// The flag file of one process; those of several may disagree.
struct TangleFlags {
    let path: String
    let old: EngineName

    /// What the file says.
    struct Wanted {
        /// The stage; nil where the file says nothing of it.
        var stage: Stage?
        /// The engine that the user is to be put on directly.
        var backend: EngineName?
        var isKilled = false
        /// The engine that users come from; nil for ``TangleFlags/old``.
        var old: EngineName?
    }

    /// Writes the file. Its identity is another one each time, as that of a file that somebody has edited.
    func want(_ wanted: Wanted) throws {
        let engines = #""variants": {"sqlite": "sqlite", "lmdb": "lmdb"}"#
        let stages = Stage.allCases.map { "\"\($0.rawValue)\": \"\($0.rawValue)\"" }.joined(separator: ", ")
        let old = wanted.old ?? old
        var lines = [
            #""\#(RolloutFlags.old)": {"state": "ENABLED", \#(engines), "defaultVariant": "\#(old.rawValue)"}"#,
            #""\#(RolloutFlags.new)": {"state": "ENABLED", \#(engines), "defaultVariant": "\#(old.otherStandard.rawValue)"}"#,
            #""\#(RolloutFlags.kill)": {"state": "ENABLED", "variants": {"on": true, "off": false}, "#
                + #""defaultVariant": "\#(wanted.isKilled ? "on" : "off")"}"#,
        ]
        if let stage = wanted.stage {
            lines.append(
                #""\#(RolloutFlags.stage)": {"state": "ENABLED", "variants": {\#(stages)}, "#
                    + #""defaultVariant": "\#(stage.rawValue)"}"#
            )
        }
        if let backend = wanted.backend {
            lines.append(
                #""\#(RolloutFlags.backend)": {"state": "ENABLED", \#(engines), "defaultVariant": "\#(backend.rawValue)"}"#
            )
        }
        let text = "{\"flags\": {\n\(lines.joined(separator: ",\n"))\n}}\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
