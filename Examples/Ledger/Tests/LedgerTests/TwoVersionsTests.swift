import Foundation
import Testing

/// Version 1 writes to the file with GRDB while version 2 writes to it through HabitStore, on the way through the stages and back, and either is
/// killed. Nothing that either has called written is lost or there twice, and version 1 is refused only while another store has the records.
struct TwoVersionsTests {
    private static let stages = ["off", "dualwrite", "shadow", "live", "rampdown"]
    private static let refusal = "the records of this file are in another store now"

    /// `LEDGER_ROUNDS=500` for a long run; `LEDGER_SEED` repeats one.
    private static let rounds = Int(ProcessInfo.processInfo.environment["LEDGER_ROUNDS"] ?? "") ?? 8
    private static let seed =
        UInt64(ProcessInfo.processInfo.environment["LEDGER_SEED"] ?? "") ?? UInt64.random(in: 0...UInt64.max)

    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            // SplitMix64 (https://prng.di.unimi.it/splitmix64.c).
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    @Test func nothingIsLostOrWrittenTwice() throws {
        print("two versions: seed \(Self.seed)")
        var generator = Generator(state: Self.seed)
        let commands = try Commands()
        try commands.run("Ledger1 add 1 Tests first")
        var (stage, known): (Int, Set<String>) = (0, ["first"])
        for round in 0..<Self.rounds {
            let isKilled = stage > 0 && Int.random(in: 0..<5, using: &generator) == 0
            let (old, new) = (
                try Writer("Ledger1", "v1-\(round)", commands), try Writer("Ledger", "v2-\(round)", commands)
            )
            Thread.sleep(forTimeInterval: .random(in: 0.4...1.2, using: &generator))
            if isKilled {
                let killed = try commands.run("ledger-ops rollout kill --root data --flags flags.json")
                #expect(killed.status == 0, "\(killed.lines)")
                Thread.sleep(forTimeInterval: 0.3)
            }
            for writer in [old, new].shuffled(using: &generator) {
                writer.kill()
                Thread.sleep(forTimeInterval: .random(in: 0...0.2, using: &generator))
            }
            let place = "round \(round) at \(Self.stages[stage])\(isKilled ? ", killed" : "")"
            let (of1, of2) = (try old.lines, try new.lines)
            #expect(of2.refused.isEmpty, "\(place): \(of2.refused)")
            // While the move is on its way, the file may be closed or open already.
            let mayRefuse = stage >= 3 || isKilled
            #expect(mayRefuse || of1.refused.isEmpty, "\(place): \(of1.refused)")
            #expect(of1.refused.allSatisfy { $0.contains(Self.refusal) }, "\(place): \(of1.refused)")
            if stage >= 3, !isKilled { #expect(of1.written.isEmpty, "\(place): \(of1.written)") }
            known.formUnion(of1.written)
            known.formUnion(of2.written)
            try expect(known, commands, place)
            if isKilled {
                try commands.run("ledger-ops rollout rearm --all --root data --flags flags.json")
                stage = 0
            }
            stage = try move(stage, &generator, commands, place)
            try expect(known, commands, place + ", moved")
        }
        try commands.remove()
    }

    /// Moves the user by the flags: mostly forward, sometimes back.
    private func move(
        _ stage: Int,
        _ generator: inout Generator,
        _ commands: Commands,
        _ place: String
    ) throws -> Int {
        let next =
            Int.random(in: 0..<4, using: &generator) == 0
            ? Int.random(in: 0...stage, using: &generator) : min(stage + 1, Self.stages.count - 1)
        let name = Self.stages[next]
        try commands.run("ledger-ops flags set habit-store-stage --variant \(name) --file flags.json")
        // A comparison may take longer than a reader waits for it.
        for _ in 0..<5 {
            let moved = try commands.run("ledger-ops rollout advance --user me --root data --flags flags.json")
            if moved.status == 0 { break }
            for _ in 0..<4 { try commands.run("Ledger list") }
        }
        let status = try commands.run(
            "ledger-ops rollout status --user me --format json --root data --flags flags.json"
        )
        #expect(
            status.lines.contains { $0.contains("\"stage\"") && $0.contains("\"\(name)\"") },
            "\(place): to \(name): \(status.lines)"
        )
        guard next > 0 else { return next }
        let compared = try commands.run("ledger-ops rollout verify --user me --root data --flags flags.json")
        #expect(compared.lines.first == "IDENTICAL: no differences", "\(place): \(compared.lines)")
        return next
    }

    /// Both versions see every known booking once, and the same ones: the file has everything from `off` to `rampdown`.
    private func expect(_ known: Set<String>, _ commands: Commands, _ place: String) throws {
        let (new, old) = (try notes("Ledger", commands), try notes("Ledger1", commands))
        #expect(Set(new).count == new.count, "\(place): a booking is there twice")
        #expect(known.isSubset(of: new), "\(place): version 2 lacks \(known.subtracting(new).sorted())")
        #expect(Set(new) == Set(old), "\(place): the versions differ by \(Set(new).symmetricDifference(old).sorted())")
    }

    private func notes(_ version: String, _ commands: Commands) throws -> [String] {
        let listed = try commands.run("\(version) list")
        #expect(listed.status == 0, "\(listed.lines)")
        return listed.lines.compactMap { line in line.firstRange(of: ": ").map { String(line[$0.upperBound...]) } }
    }
}
