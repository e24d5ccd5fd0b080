import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// One kill: where the user is, what is being done, and where the process dies. It follows from the seed and the number.
struct Scenario: CustomStringConvertible {
    let number: Int
    let pair: EnginePair
    let start: Stage
    /// Whether the user has no stores yet.
    let isNew: Bool
    let move: Move
    /// The crash point and the how manieth time it is reached; nil for a random instant.
    let crashPoint: (name: String, count: Int)?
    /// The random instant.
    let lifetimeSeconds: Double
    /// A second child, which recovers from the death of the first, and where it dies.
    let second: String?
    let childSeed: UInt64

    /// Where recoveries die.
    private static let recoveryPoints = [
        "settle.replayed", "settle.replayed", "switch.locked", "switch.opened", "switch.drained", "mirror.began",
        "mirror.committed", "evidence.appended", "write.committed", "live.committed", "backfill.copied",
        "backfill.emptying",
    ]

    /// What is come to by archiving the evidence, or by beginning it anew.
    private static let filingPoints = [
        "evidence.checkpointed", "evidence.archived", "evidence.shortened", "evidence.reset",
    ]
    /// Whether the evidence is long, and the child archives it and begins it anew beside.
    var isFiling: Bool { crashPoint.map { Self.filingPoints.contains($0.name) } ?? false }

    init(seed: UInt64, number: Int, of swept: SweptEngines = SweptEngines()) {
        self.number = number
        var generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0x5851_F42D_4C95_7F2D)
        // In turn, so that a short sweep has them all too.
        let pairs = swept.pairs
        pair = pairs[number % pairs.count]
        let turn = number / pairs.count
        let ways = Stage.allCases.flatMap { stage in
            Move.allCases.filter { $0.target(from: stage) != nil }.map { (stage, $0) }
        }
        (start, move) = ways[turn % ways.count]
        isNew = start == .off && Int.random(in: 0..<3, using: &generator) == 0
        // A new user has no evidence to speak of.
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

    /// The crash points that are surely come to.
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
            if !EngineName.standard.contains(left) { points += CrashPoint.shared }
        }
        if start.authority == .old, target.authority == .new { points.append("switch.drained") }
        if start == .shadow, target == .live { points.append("selfComparison.copied") }
        if move == .kill { points.append("kill.latched") }
        return points
    }

    /// Whether a point is passed many times in one life.
    static func isOften(_ point: String) -> Bool {
        ["write.", "live.", "mirror."].contains { point.hasPrefix($0) } || point == "backfill.chunk"
    }

    /// What the child is told.
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
