import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout

/// `habitstore rollout status`.
struct RolloutStatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows where users are on the way, and what is known of them. Changes nothing.",
        discussion: """
            All users, or with --user one. A store that cannot be read is named in the user's row, and makes the exit code \
            65 or 74, after all rows, and so does a folder of which nobody can tell whose it is; evidence that is damaged, or \
            stores that were found to differ, make it 1. A root that is not there is exit code 74.

            With --watch a move or a kill shows with the next look, ten times a second; tokens, evidence, flag files, the \
            gate's policy and users who come or go are looked at once a second, and everything else every ten seconds. \
            Nothing is kept open or locked between two looks.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions
    @OptionGroup var watching: WatchOptions

    @Flag(help: "All users under the root, as without --user.")
    var all = false

    var isFollowing: Bool { watching.watch }

    func validate() throws {
        try options.userOptions.requireNoUser(with: all)
    }

    func run() async throws {
        var looks = StatusLooks(options: options, jobs: jobOptions)
        try await looks.lookAtAll()
        guard watching.watch else { return try answerOnce(looks) }
        var shown = ShownAnswers()
        while true {
            let report = try report(looks)
            try shown.show(report.answer, notes: report.notes, errors: report.errors)
            repeat {
                try await Task.sleep(for: looks.pause)
                try Output.requireReader()
            } while try await !looks.lookAgain()
        }
    }

    private func answerOnce(_ looks: StatusLooks) throws {
        guard FileManager.default.fileExists(atPath: looks.folder) else {
            throw HabitStoreError(
                .notFound,
                "there is no folder here for users to have stores in; name another one with --root or --store-name",
                at: .init(path: looks.folder)
            )
        }
        let report = try report(looks)
        StandardError.write(report.notes)
        try Output.write(try report.answer.text(asLine: false))
        StandardError.write(report.errors)
        let failure = looks.failures.first ?? looks.statuses.lazy.compactMap(\.problems.first).first?.error
        if let failure { throw ExitCode(ErrorReport(failure, showsDetail: false).status.rawValue) }
        if looks.statuses.contains(where: { !$0.evidence.isIntact || $0.evidence.openDifference != nil }) {
            throw ExitCode(ExitStatus.different.rawValue)
        }
    }

    private func report(_ looks: StatusLooks) throws -> (answer: Answer, notes: String, errors: String) {
        let (statuses, failures) = (looks.statuses, looks.failures)
        let errors = failures.map { ErrorReport($0, showsDetail: output.verbose).text }.joined()
        guard output.format == .text else { return (.document(RolloutStatusReport.json(statuses)), "", errors) }
        let notes = Set(statuses.flatMap(\.notes)).sorted().map(StandardError.line(ofNote:)).joined()
        guard !statuses.isEmpty || failures.isEmpty else { return (.text(""), notes, errors) }
        let text = RolloutStatusReport(
            statuses,
            root: looks.folder,
            options: Terminal.options(),
            timeZone: looks.timeZone
        ).text
        return (.text(text), notes, errors)
    }
}
