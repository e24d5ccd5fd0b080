import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// A kill: the user's stage, the move, and where the process dies. The seed and the number determine it.
struct Scenario: CustomStringConvertible {
    let number: Int
    let pair: EnginePair
    let start: Stage
    /// Whether the user has no stores yet.
    let isNew: Bool
    let move: Move
    /// The crash point, and at which of its occurrences the process dies; nil for a random instant.
    let crashPoint: (name: String, count: Int)?
    /// The time until a kill at a random instant.
    let lifetimeSeconds: Double
    /// Where a second child dies, which recovers from the death of the first.
    let second: String?
    let childSeed: UInt64

    /// Crash points of recoveries.
    private static let recoveryPoints = [
        "settle.replayed", "settle.replayed", "switch.locked", "switch.opened", "switch.drained", "mirror.began",
        "mirror.committed", "evidence.appended", "write.committed", "live.committed", "backfill.copied",
        "backfill.emptying",
    ]

    /// Crash points of archiving and resetting the evidence.
    private static let filingPoints = [
        "evidence.checkpointed", "evidence.archived", "evidence.shortened", "evidence.reset",
    ]
    /// Whether the evidence is long, and the child also archives and resets it.
    var isFiling: Bool { crashPoint.map { Self.filingPoints.contains($0.name) } ?? false }

    init(seed: UInt64, number: Int, of swept: SweptEngines = SweptEngines()) {
        self.number = number
        var generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0x5851_F42D_4C95_7F2D)
        // In turn, so that a short sweep includes all of them.
        let pairs = swept.pairs
        pair = pairs[number % pairs.count]
        let turn = number / pairs.count
        let ways = Stage.allCases.flatMap { stage in
            Move.allCases.filter { $0.target(from: stage) != nil }.map { (stage, $0) }
        }
        (start, move) = ways[turn % ways.count]
        isNew = start == .off && Int.random(in: 0..<3, using: &generator) == 0
        // A new user has hardly any evidence.
        let filing = isNew ? [] : [Self.filingPoints[turn % Self.filingPoints.count]]
        let points = Self.points(start, move, pair, swept) + filing
        if CrashPoint.all.isEmpty || Int.random(in: 0..<4, using: &generator) == 0 {
            crashPoint = nil
        } else {
            let name = points[Int.random(in: points.indices, using: &generator)]
            crashPoint = (name, Self.isOften(name) ? Int.random(in: 1...12, using: &generator) : 1)
        }
        lifetimeSeconds = Double.random(in: 0...0.3, using: &generator)
        let isCompound = crashPoint.map { $0.name == "live.mirrored" } ?? false
        second =
            CrashPoint.all.isEmpty || Int.random(in: 0..<4, using: &generator) > 0
            ? nil
            : isCompound ? "settle.replayed" : Self.recoveryPoints.randomElement(using: &generator)
        childSeed = generator.next()
    }

    /// The crash points that the process is certain to reach.
    private static func points(_ start: Stage, _ move: Move, _ pair: EnginePair, _ swept: SweptEngines) -> [String] {
        let target = move.target(from: start) ?? start
        let stages = [start, target]
        var points = ["write.began", "write.beforeCommit", "prune.authority", "switch.locked"]
        if start != target { points += ["switch.opened", "evidence.appended"] }
        if stages.contains(where: { !$0.awaitsMirror }) { points.append("write.committed") }
        if stages.contains(where: \.awaitsMirror) { points += ["live.mirrored", "live.committed", "prune.mirror"] }
        if stages.contains(where: { $0.mirror == .new && $0.authority == .old }) {
            points += ["mirror.began", "mirror.beforeCommit", "mirror.committed", "prune.mirror"]
        }
        if move == .retire {
            points += swept.forgets(pair) ? [] : ["retire.told", "retire.disowned", "retire.removed"]
        }
        if start == .complete, move != .kill, move != .retire, swept.forgets(pair) {
            points += ["backfill.begun", "backfill.emptying", "backfill.chunk", "backfill.copied"]
        }
        if start == .off, target == .dualwrite { points += ["backfill.begun", "backfill.chunk", "backfill.copied"] }
        if start != target, start.authority == .new || target.authority == .new { points.append("switch.sealed") }
        if start.authority == .new, target.authority == .new, start != target { points.append("switch.claimed") }
        if start.authority != target.authority {
            points.append("switch.finished")
            let left = start.authority == .old ? pair.old : pair.new
            if swept.isShared(left) { points += CrashPoint.shared }
        }
        if start.authority == .old, target.authority == .new { points.append("switch.drained") }
        if start == .shadow, target == .live { points.append("selfComparison.copied") }
        if move == .kill { points.append("kill.latched") }
        return points
    }

    /// Whether one life passes a point many times.
    static func isOften(_ point: String) -> Bool {
        ["write.", "live.", "mirror."].contains { point.hasPrefix($0) } || point == "backfill.chunk"
    }

    /// The child's arguments.
    func arguments(root: URL, flags: StageFlags, first: Int) -> [String] {
        [
            "--root", root.path, "--flags", flags.path, "--old", pair.old.rawValue, "--new", pair.new.rawValue,
            "--first", "\(first)",
            "--move", move.rawValue, "--seed", "\(childSeed)",
        ] + (isFiling ? ["--filing"] : [])
    }

    var description: String {
        let place = crashPoint.map { "\($0.name):\($0.count)" } ?? "after \(Int(lifetimeSeconds * 1_000)) ms"
        return
            "kill \(number): \(isNew ? "new" : start.rawValue) \(move.rawValue), \(pair.old) to \(pair.new), \(place)"
            + (second.map { ", then \($0)" } ?? "")
    }
}

/// A user's folder at each stage, created once, so that a kill costs a copy instead of the way to the stage.
struct Templates {
    private let folder: URL
    private let swept: SweptEngines
    private var writes: [String: Set<Int>] = [:]

    /// The number of writes at `off`, and at each later stage.
    private static let writesAtFirst = 12
    private static let writesAtEach = 2

    init(in parent: URL, of swept: SweptEngines = SweptEngines()) throws {
        self.swept = swept
        folder = parent.appendingPathComponent("templates")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for pair in swept.pairs { try make(pair) }
    }

    private mutating func make(_ pair: EnginePair) throws {
        let root = folder.appendingPathComponent("\(pair.old)-\(pair.new)-making")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let flags = StageFlags(path: folder.appendingPathComponent("flags.json").path, pair)
        try flags.want(.off)
        var number = 0
        for stage in Stage.allCases {
            let user = try SweptUser(root: root.path, flags: flags, options: .sweep, engines: try swept.engines)
            while try user.store.stage() < stage { _ = try user.goForward() }
            for _ in 0..<(stage == .off ? Self.writesAtFirst : Self.writesAtEach) {
                number += 1
                try user.store.write(author: Workload.author(number)) { try Workload.write(number, in: $0) }
            }
            // At `complete` the old store has fallen behind. For half of the pairs the way back replays the history, for the others it is a copy.
            if stage == .complete, swept.forgets(pair) {
                try user.store.pruneHistory(through: try user.store.currentToken())
            }
            user.store.close()
            let name = "\(pair.old)-\(pair.new)-\(stage.rawValue)"
            try swept.copy(root, to: folder.appendingPathComponent(name))
            writes[name] = Set(1...number)
        }
    }

    /// Copies a template.
    ///
    /// - Parameter hasLongEvidence: whether its evidence is long enough that a checkpoint is due.
    /// - Returns: the writes that it contains.
    func copy(_ stage: Stage, _ pair: EnginePair, hasLongEvidence: Bool, to root: URL) throws -> Set<Int> {
        let name = "\(pair.old)-\(pair.new)-\(stage.rawValue)"
        try swept.copy(folder.appendingPathComponent(name), to: root)
        if hasLongEvidence { try LongEvidence.write(EvidenceLog(UserDirectory(root: root.path, user: SweptUser.name))) }
        return writes[name] ?? []
    }
}

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

/// Evidence long enough that a part of it can be archived.
enum LongEvidence {
    /// The number of lines that makes a checkpoint due.
    private static let lines = 600

    /// Adds lines that do not change what is proven.
    static func write(_ log: EvidenceLog) throws {
        let refused = EvidenceEvent.refused(to: .complete, reasons: [.rollbackNotRehearsed])
        try log.append(Array(repeating: refused, count: lines), at: Date())
    }
}
