import Foundation
import Testing

/// The greatest and the least numbers in each numeric argument: `--time-limit 1e300` once crashed the process. Each number is accepted, or refused in
/// one
/// line; `Sandbox.run` fails if a signal ends the command.
struct NumberArgumentTests {
    private static let extremes = [
        "0", "-1", "2147483648", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e300", "nan",
        "",
    ]

    /// Arguments separated by spaces; `N` is the number, and `A` and `B` are stores.
    private static let forms = [
        "verify A B --quiet --time-limit=N", "history A --limit=N", "history A --after=N",
        "query Entry --store A --limit=N", "query Entry --store A --offset=N", "query Entry --store A value>=N",
        "habit edit Run --times=N", "habit edit Run --period=N", "habit edit Run --target=N",
        "habit add Row --target=N",
        "checkin Run --value=N", "checkin Run --date=N", "entry list Run --limit=N", "rollout status --all --jobs=N",
        "flags set habit-store-backend --file flags.json --percentage lmdb=N,sqlite=1",
    ]

    @Test func anyNumberIsTakenOrRefusedInALine() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        for form in Self.forms {
            for number in Self.extremes {
                try sandbox.write("flags.json", Self.flags)
                let arguments = form.split(separator: " ").map { word in
                    word == "A" ? a : word == "B" ? b : word.replacingOccurrences(of: "N", with: number)
                }
                let start = ContinuousClock.now
                let run = try sandbox.run(arguments)
                #expect([0, 1, 64, 65, 74, 75].contains(run.status), "\(arguments): \(run.status)")
                #expect([0, 1, 75].contains(run.status) || !run.errors.isEmpty, "\(arguments)")
                #expect(!run.errors.contains("Fatal error"), "\(arguments)")
                #expect(ContinuousClock.now - start < .seconds(60), "\(arguments)")
            }
        }
        // Whatever was stored can be read again.
        for read in [["habit", "list"], ["entry", "list", "Run"], ["chart", "Run"], ["status"]] {
            try sandbox.run(read).expectSuccess()
        }
    }

    private static let flags = """
        {"flags": {"habit-store-backend": {
          "state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}, "defaultVariant": "sqlite",
          "targeting": {"fractional": [["lmdb", 20], ["sqlite", 80]]}
        }}}
        """
}
