import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// The flag file of one process; several processes' files may disagree.
struct StageFlags {
    let path: String
    /// The old and the new engine.
    let pair: EnginePair

    init(path: String, _ pair: EnginePair) { (self.path, self.pair) = (path, pair) }

    /// Flags that move users from one of the two engines that are always available to the other.
    init(path: String, old: EngineName) { self.init(path: path, EnginePair(old: old, new: old.otherStandard)) }

    /// The contents of the file.
    struct Wanted {
        /// The stage; nil if the file does not mention it.
        var stage: Stage?
        /// The engine to put the user on directly.
        var backend: EngineName?
        var isKilled = false
        /// The old engine; nil for that of ``StageFlags/pair``.
        var old: EngineName?
    }

    /// Writes the file, as a new file each time, like most editors.
    func want(_ wanted: Wanted) throws {
        let old = wanted.old ?? pair.old
        let engines = pair.names.map(\.rawValue)
        var flags = [
            Self.flag(RolloutFlags.old, engines, old.rawValue),
            Self.flag(RolloutFlags.new, engines, pair.other(than: old).rawValue),
            #""\#(RolloutFlags.kill)": {"state": "ENABLED", "variants": {"on": true, "off": false}, "#
                + #""defaultVariant": "\#(wanted.isKilled ? "on" : "off")"}"#,
        ]
        if let stage = wanted.stage {
            flags.append(Self.flag(RolloutFlags.stage, Stage.allCases.map(\.rawValue), stage.rawValue))
        }
        if let backend = wanted.backend { flags.append(Self.flag(RolloutFlags.backend, engines, backend.rawValue)) }
        let text = "{\"flags\": {\n\(flags.joined(separator: ",\n"))\n}}\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    func want(_ stage: Stage, kill: Bool = false) throws { try want(.init(stage: stage, isKilled: kill)) }

    /// A flag whose variants are named by their values.
    private static func flag(_ name: String, _ variants: [String], _ chosen: String) -> String {
        let variants = variants.map { #""\#($0)": "\#($0)""# }.joined(separator: ", ")
        return #""\#(name)": {"state": "ENABLED", "variants": {\#(variants)}, "defaultVariant": "\#(chosen)"}"#
    }
}
