import Foundation
import HabitStore
import HabitTracker
import ShadowVerifier
import StandardEngines
import Testing
import Trials

@testable import HabitStoreRollout

/// A verification while other processes write compares stores at one token, or reports that it could not.
struct VerificationBesideWritersTests {
    @Test(.timeLimit(.minutes(5)))
    func writersOfOtherProcessesAreNoDifference() throws {
        let user = try StagedUser()
        try user.want("shadow")
        let first = try user.stores().store(for: "alice")
        try SampleRecords.fill(first)
        try user.bring(first, to: .shadow)
        first.close()
        let processes = try (0..<3).map { number in
            try TrafficProcess("write", root: user.root, flags: user.flags, log: user.folder.path("log-\(number)"))
        }
        let (old, new) = (
            try user.address(.old).open(.readOnly, schema: HabitSchema.current),
            try user.address(.new).open(.readOnly, schema: HabitSchema.current)
        )
        defer {
            old.close()
            new.close()
        }
        let before = try old.currentToken()
        while try old.currentToken() == before { usleep(10_000) }
        var verdicts: [VerificationReport.Verdict: Int] = [:]
        var tokens: Set<HistoryToken> = []
        // On a busy disk all of them may end before the next write does.
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            for depth in [VerificationDepth.full, .keptDigests, .full, .paranoid, .keptDigests, .full] {
                var options = VerificationOptions()
                options.depth = depth
                let report = try ShadowVerifier(
                    .init(name: "old", store: old),
                    .init(name: "new", store: new),
                    options: options
                )
                .run()
                #expect(report.differences == [])
                #expect(report.a.information.token == report.b.information.token || report.verdict == .skewed)
                verdicts[report.verdict, default: 0] += 1
                tokens.insert(report.a.information.token)
            }
        } while tokens.count < 2 && ContinuousClock.now < deadline
        for process in processes { _ = try process.finish() }
        // The writers wrote, and equal tokens were found between their writes.
        #expect(tokens.count > 1)
        #expect((verdicts[.match] ?? 0) > 0)
        #expect(Set(verdicts.keys).isSubset(of: [.match, .skewed]))
    }
}
