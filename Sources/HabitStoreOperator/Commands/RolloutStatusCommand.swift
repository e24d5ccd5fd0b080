import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout

/// `habitstore rollout status`.
struct RolloutStatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows users' stages, stores and evidence. Changes nothing.",
        discussion: """
            All users, or with --user one. A store that cannot be read is named in the user's row and makes the exit \
            code 65 or 74, after all rows; so does a folder that belongs to no known user. Damaged evidence, or stores \
            that were found to differ, make it 1. If the root is missing it is 74.

            With --watch it checks for moves and kills ten times a second; for tokens, evidence, flag files, the \
            gate's policy and new or removed users once a second; and for everything else every ten seconds. Between \
            two checks nothing is open or locked.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions
    @OptionGroup var watching: WatchOptions

    @Flag(help: "All users under the root. This is the default.")
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
                "there is no folder with users' stores here; name another one with --root or --store-name",
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
