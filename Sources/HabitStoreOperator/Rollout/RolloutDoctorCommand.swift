import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import JSONText

/// `habitstore rollout doctor`.
struct RolloutDoctorCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Reports what is wrong with users' folders, what it means, and what helps.",
        discussion: """
            Checks all users, or with --user one. Changes nothing without --fix, which repairs what leaves no doubt.
            Exit codes: 0 nothing is wrong, or everything was repaired; 1 something is left; otherwise that of the \
            first user who could not be checked.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @Flag(help: "All users under the root. This is the default.")
    var all = false

    @Flag(help: "Repair what leaves no doubt.")
    var fix = false

    func validate() throws {
        try userOptions.requireNoUser(with: all)
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let users = try userOptions.user.map { UserListing(users: [$0]) } ?? stores.users()
        let fixes = fix
        let results = await jobOptions.run(fix ? "mending" : "looking", users) { user in
            try AdvisedUser(user).filling {
                DoctorReport.User(
                    before: try stores.examine(user),
                    left: fixes ? try stores.mend(user) : nil
                )
            }
        }
        let report = DoctorReport(results: results)
        try output.write(report.json) { report.text }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }
}

/// The problems of users' folders, and which of them were repaired.
struct DoctorReport {
    /// The findings about a user.
    struct User: Sendable {
        let before: [UserFinding]
        /// The findings left after the repair; nil if none was requested.
        let left: [UserFinding]?
    }

    let results: [UserResult<User>]

    private var users: [(name: String, found: User)] {
        results.compactMap { result in (try? result.result.get()).map { (result.user, $0) } }
    }

    var status: ExitStatus {
        if let failure = results.failures().first { return ErrorReport(failure.error, showsDetail: false).status }
        return users.allSatisfy { ($0.found.left ?? $0.found.before).isEmpty } ? .success : .different
    }

    var text: String {
        var lines: [String] = []
        for (user, error) in results.failures() {
            lines.append("\(user): NOT CHECKED: \(ErrorReport.message(of: error, for: user))")
        }
        var (mended, open) = (0, 0)
        for (user, found) in users {
            let advised = AdvisedUser(user)
            func sentence(_ finding: UserFinding) -> String { advised.filled("\(finding.message): \(finding.remedy)") }
            let left = found.left ?? found.before
            for finding in found.before {
                let isMended = !left.contains { $0.kind == finding.kind }
                mended += isMended ? 1 : 0
                lines.append("\(user): \(isMended ? "repaired: " : "")\(sentence(finding))")
            }
            for finding in left where !found.before.contains(where: { $0.kind == finding.kind }) {
                lines.append("\(user): \(sentence(finding))")
            }
            open += left.count
        }
        let failures = results.failures().count
        let notChecked = failures == 0 ? "" : ", \(failures) not checked"
        lines.append(
            "\(users.count.counted("user")) checked\(notChecked), \(mended.counted("finding")) repaired, \(open) open"
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    var json: JSONObject {
        func list(_ findings: [UserFinding], _ user: String) -> [JSONObject] {
            let advised = AdvisedUser(user)
            return findings.map {
                [
                    "kind": $0.kind.rawValue, "message": advised.filled($0.message),
                    "remedy": advised.filled($0.remedy), "canBeMended": $0.canBeMended,
                ]
            }
        }
        return [
            "users": results.map { result in
                var fields: JSONObject = ["user": result.user]
                switch result.result {
                case .success(let found):
                    fields["findings"] = list(found.before, result.user)
                    if let left = found.left { fields["left"] = list(left, result.user) }
                case .failure(let error): fields["error"] = ErrorReport.message(of: error, for: result.user)
                }
                return fields
            }
        ]
    }
}

/// `habitstore rollout verify`.
struct RolloutVerifyCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            abstract:
                "Compares a user's two stores as `\(Tool.name) verify` does, and records the result as evidence.",
            discussion: """
                Exit code 1 means that they differ, or that writes to them never paused; 2 that the ignore rules of \
                the gate's policy cover all differences.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "A file of more queries to compare.")
    var queries: String?

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions, queries: queries)
        let bar = ProgressBar(isQuiet: quiet)
        let report = try stores.withOnly(settings.user) { store in
            defer {
                bar.clear()
                if store.owesEvidence { StandardError.note(RolloutNotes.owedEvidence(settings.user)) }
            }
            return try store.verify { bar.show($0, $1, $2) }
        }
        try output.write(report) {
            let isDifferent = report.openDifferenceCount > 0
            let help = isDifferent ? RolloutNotes.help(against: .verificationNotClean) : ""
            return VerificationText(report, options: Terminal.options()).text + help
        }
        try ExitStatus.end(with: report)
    }
}

/// `habitstore rollout rehearse`.
struct RolloutRehearseCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Tries the way back on copies of a user's stores, and records the result as evidence.",
        discussion: """
            The copies are moved to live, written to, and taken back by the kill switch; then they are compared. They \
            are made next to the user's stores, need as much space for a moment, and are removed. Exit code 1 means \
            that the way back failed.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let failure = try stores.withOnly(settings.user) { try $0.rehearse() }
        try output.write([
            "user": settings.user,
            "isClean": failure == nil,
            "message": failure?.description,
        ]) {
            let what = failure.map { "the way back FAILED: \($0.description)" } ?? "the way back works"
            return TerminalText.escaped("\(settings.user): \(what)") + "\n"
        }
        if failure != nil { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// `habitstore rollout runbook`.
struct RolloutRunbookCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "runbook",
        abstract: "Explains what to do about a reason for which users wait or a fleet is halted.",
        discussion: """
            Without a reason all entries are printed: the gate's reasons, what halts a fleet, and the codes of errors. \
            Words in capitals are placeholders.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The reason, as `rollout status`, `fleet status` and the metrics name it.")
    var kind: String?

    func run() async throws {
        let entries = try entries()
        try output.write(["entries": entries]) { entries.map(Self.text).joined(separator: "\n") }
    }

    private func entries() throws -> [RunbookEntry] {
        guard let kind else { return Runbook.entries }
        guard let entry = Runbook.entry(kind) else {
            throw CommandFailure.usage(
                "\"\(TerminalText.escaped(kind))\" is not a reason; `\(Tool.name) rollout runbook` lists all of them"
            )
        }
        return [entry]
    }

    private static func text(_ entry: RunbookEntry) -> String {
        """
        \(entry.kind)
          symptom:  \(entry.symptom)
          meaning:  \(entry.meaning)
          run:      \(entry.command)
          check:    \(entry.check)

        """
    }
}

/// Notes that several `rollout` commands print.
enum RolloutNotes {
    /// The line that points to an entry of the runbook.
    static func help(_ kind: String) -> String { "what helps: \(Tool.name) rollout runbook \(kind)\n" }

    /// The line for a reason of the gate.
    static func help(against kind: GateReason.Kind) -> String { help(kind.rawValue) }

    /// The note that the evidence could not be written.
    static func owedEvidence(_ user: String) -> String {
        "\(user): the evidence cannot be written, so its lines are owed; those that close the gate keep it closed until then, "
            + "and `\(Tool.name) rollout doctor --user \(AdvisedUser(user).words) --fix` adds them once the file can be written"
    }
}
