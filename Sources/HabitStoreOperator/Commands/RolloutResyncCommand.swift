import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreReports
import HabitStoreRollout
import ShadowVerifier

/// `habitstore rollout resync`.
struct RolloutResyncCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "resync",
        abstract: "Rebuilds the following store from the serving one, and verifies both.",
        discussion: """
            This repairs a user whose stores differ, if the serving store is right. If it is not, take the user back first (`rollout demote`). \
            If the serving store is itself damaged, nothing is changed. The other store is set aside next to the new copy and never deleted. \
            The user's evidence records who did it and why, and the verification.

            At live and rampdown the user's writes wait for the copy, and so does a kill.

            Exit code 1 means that the stores still differ.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("Why, for the evidence.", valueName: "text"))
    var because: String

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard because.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("--because is empty; say why the store is rebuilt")
        }
        guard options.userOptions.user != nil else {
            throw ValidationError("say whose store is rebuilt, with --user")
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let bar = ProgressBar(isQuiet: quiet)
        let outcome = try stores.withOnly(settings.user) { store in
            defer { bar.clear() }
            return try store.resync(by: NSUserName(), because: because) { bar.show($0, $1, $2) }
        }
        switch output.format {
        case .json: try JSON.write(RolloutResyncReport(user: settings.user, outcome))
        case .text:
            let (engine, source) = (outcome.engine.rawValue, outcome.source.rawValue)
            let records = FleetOverview.counted(outcome.records, "record")
            var lines = ["\(settings.user): the \(engine) store was rebuilt from the \(source) store, \(records)"]
            if let aside = outcome.aside { lines.append("the store that was there is \(aside) now") }
            let text = lines.map { TerminalText.escaped($0) + "\n" }.joined()
            let isDifferent = outcome.report.openDifferenceCount > 0
            let help = isDifferent ? RolloutNotes.help(against: .verificationNotClean) : ""
            try Output.write(text + VerificationText(outcome.report, options: Terminal.options()).text + help)
        }
        try ExitStatus.end(with: outcome.report)
    }
}

/// The outcome as JSON.
private struct RolloutResyncReport: Encodable {
    let user: String
    let engine: EngineName
    let source: EngineName
    let aside: String?
    let records: Int
    let verification: VerificationReport

    init(user: String, _ outcome: ResyncOutcome) {
        self.user = user
        (engine, source, aside) = (outcome.engine, outcome.source, outcome.aside)
        (records, verification) = (outcome.records, outcome.report)
    }
}
