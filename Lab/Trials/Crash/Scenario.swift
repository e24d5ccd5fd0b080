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
            if !EngineName.standard.contains(left) { points += CrashPoint.shared }
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
