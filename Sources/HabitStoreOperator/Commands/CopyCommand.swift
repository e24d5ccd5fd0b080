import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout

/// `habitstore copy A B`.
struct CopyCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies the records and the history of store A to store B.",
        discussion: """
            Odd data in A is copied unchanged. A copy that was stopped continues where it ended; repeated on equal \
            stores it does nothing; newer or different data in B is never overwritten. Afterwards B is on standby.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The source: sqlite:PATH, lmdb:PATH, or a path.")
    var source: String

    @Argument(help: "The destination, created if it is missing: sqlite:PATH, lmdb:PATH, or a path.")
    var destination: String

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let from = try StoreAddress(argument: source)
        let source = try from.openAsWritten(.readOnly, by: .known)
        defer { source.close() }
        let to = try StoreAddress(destination: destination)
        let destination = try to.open(.create, schema: source.schema, by: .known)
        defer { destination.close() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let outcome = try Backfill(from: source, to: destination).run { bar.show("copying", $0.done, $0.total) }
        bar.clear()
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "kind": .string(outcome.kind.rawValue),
                    "records": .int(outcome.records),
                    "transactions": .int(outcome.transactions),
                    "token": .int(Int(outcome.token.rawValue)),
                    "source": .string(from.description),
                    "destination": .string(to.description),
                ])
            )
        case .text: try Output.write(text(outcome) + "\n")
        }
    }

    private func text(_ outcome: Backfill.Outcome) -> String {
        let amount = "\(outcome.records.counted("record")) and \(outcome.transactions.counted("history transaction"))"
        switch outcome.kind {
        case .alreadyCurrent: return "nothing to do: both stores are at token \(outcome.token)"
        case .caughtUp: return "caught up \(amount); both stores are at token \(outcome.token)"
        case .copied: return "copied \(amount); both stores are at token \(outcome.token)"
        }
    }
}
