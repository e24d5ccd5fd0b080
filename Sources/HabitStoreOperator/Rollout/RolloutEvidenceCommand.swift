import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import JSONText

/// `habitstore rollout evidence`.
struct RolloutEvidenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evidence",
        abstract: "Lists, checks, archives and resets a user's evidence.",
        subcommands: [
            RolloutEvidenceListCommand.self, RolloutEvidenceVerifyCommand.self, RolloutEvidenceArchiveCommand.self,
            RolloutEvidenceResetCommand.self,
        ],
        defaultSubcommand: RolloutEvidenceListCommand.self
    )
}

/// `habitstore rollout evidence list`, which is what `habitstore rollout evidence` does.
struct RolloutEvidenceListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists a user's evidence, and checks that it was not changed. Changes nothing.",
        discussion: """
            Each line of the file has the SHA-256 of the line before it, and the stores remember how far the file had \
            come. Exit code 1 means that a line was changed, removed, repeated or moved. All lines are checked, and \
            the newest are listed; archives are not read.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "How many of the newest records to list.")
    var limit = EvidenceLog.newestRecords

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit takes a number of records, 0 or more") }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let log = try stores.evidence(of: settings.user)
        let anchor = try stores.evidenceAnchor(of: settings.user)
        let report = EvidenceReport(
            user: settings.user,
            path: log.isKept ? log.path : nil,
            listing: try log.newest(limit),
            isCutOff: try !log.contains(anchor),
            uncounted: try stores.uncountedEvidence(of: settings.user)
        )
        try output.write(report.json) { report.text(Terminal.options(), timeZone: settings.timeZone) }
        if !report.isIntact { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// `habitstore rollout evidence verify`.
struct RolloutEvidenceVerifyCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks every line of a user's evidence, archives included. Changes nothing.",
        discussion: """
            The gate reads from the last checkpoint on; this reads everything. Exit code 1 means that a line was \
            changed, removed, repeated or moved, or that an archive is missing: the checkpoint after it still has the \
            sum of its records, which is enough for the gate, but the records can no longer be checked.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let found = try stores.verifyEvidence(of: settings.user)
        try output.write([
            "user": settings.user, "isWhole": found.isWhole, "files": found.files, "records": found.records,
            "damage": found.damage, "missingUpTo": found.missingUpTo, "isCutOff": found.isCutOff,
        ]) { TerminalText.escaped("\(settings.user): \(found.sentence)") + "\n" }
        if !found.isWhole { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// `habitstore rollout evidence archive`.
struct RolloutEvidenceArchiveCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive",
        abstract: "Moves the older part of a user's evidence to another file in the same folder.",
        discussion: """
            Records before the last checkpoint go to evidence-FIRST-LAST.jsonl. The gate does not need them; \
            `rollout evidence verify` reads them, and reports a missing archive.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let archived = try stores.withOnly(settings.user) { try $0.archiveEvidence() }
        try output.write(["user": settings.user, "file": archived?.file]) {
            let what =
                archived.map { "records \($0.first) to \($0.last), \($0.sizeBytes.counted("byte")), are in \($0.file)" }
                ?? "there is too little evidence to archive any"
            return TerminalText.escaped("\(settings.user): \(what)") + "\n"
        }
    }
}

/// `habitstore rollout evidence reset`.
struct RolloutEvidenceResetCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Starts a user's evidence again if it was lost or damaged. The user goes to off.",
        discussion: """
            Damaged evidence keeps the gate closed for ever. This keeps the file as evidence-reset-N.jsonl and starts \
            a chain that says why, by whom and what was there. Everything has to be proven again, so the user is taken \
            to off first. Intact evidence is refused without --force, with exit code 1.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Why, for the first line of the new evidence.")
    var because: String

    @Flag(help: "Reset the evidence even if it is intact.")
    var force = false

    func validate() throws {
        guard !because.allSatisfy(\.isWhitespace), because.utf8.count <= 1_000 else {
            throw ValidationError("say why with --because TEXT, in 1,000 bytes at most")
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let reset = try stores.withOnly(settings.user) { store in
            do {
                return try store.resetEvidence(because: because, by: NSUserName(), isForced: force)
            } catch let error as HabitStoreError where error.code == .unsupported {
                // The arguments are right, and the answer is no.
                throw CommandFailure(status: .different, message: error.description, detail: error.detail)
            }
        }
        try output.write([
            "user": settings.user, "from": reset.from.rawValue,
            "to": Stage.off.rawValue, "file": reset.file,
        ]) {
            let kept = reset.file.map { "what was there is in \($0)" } ?? "there was none before"
            let way = reset.from == .off ? "at off" : "\(reset.from.rawValue) → off"
            let line = "\(settings.user): \(way); the evidence starts again, and \(kept)"
            return TerminalText.escaped(line) + "\n"
        }
    }
}

/// A user's evidence, and whether it is intact.
struct EvidenceReport {
    let user: String
    /// nil if the file was made to be listed only.
    let path: String?
    let listing: EvidenceListing
    /// Whether it ends before the point that the stores remember.
    let isCutOff: Bool
    /// The lines in the user's favour that do not count.
    let uncounted: EvidenceLog.Uncounted

    var isIntact: Bool { listing.isIntact && !isCutOff }

    var json: JSONObject {
        let document: JSONObject = [
            "user": user,
            "path": path,
            "isIntact": isIntact,
            "damage": listing.damage,
            "isCutOff": isCutOff,
            "uncounted": uncounted,
            "tornBytes": listing.tornBytes,
            "recordCount": listing.count,
            "records": listing.records.map {
                [
                    "sequence": $0.sequence, "time": ISODate.instant($0.time), "event": $0.event,
                    "previous": $0.previous, "hash": $0.hash,
                ] as JSONObject
            },
        ]
        return document.omittingNil
    }

    /// A row for each record, and how to check a line by hand.
    func text(_ options: TerminalOptions, timeZone: TimeZone) -> String {
        guard listing.count > 0 || !isIntact else { return "there is no evidence yet\n" }
        var table = TextTable([
            .init("#", alignment: .right), .init("time", canShrink: false), .init("hash", canShrink: false),
            .init("what"), .init("details"),
        ])
        for record in listing.records {
            let words = record.event.words
            table.append([
                String(record.sequence), ISODate.local(record.time, in: timeZone), String(record.hash.prefix(12)),
                words.what,
                words.details,
            ])
        }
        var text = table.text(options) + "\n"
        if let damage = listing.damage {
            text += "DAMAGED: line \(damage.line): \(TerminalText.escaped(damage.reason)); it proves nothing any more\n"
        } else if isCutOff {
            text += "DAMAGED: it ends before what the stores remember of it; lines are missing at its end\n"
        } else {
            text += "intact: \(listing.count.counted("record")), each with the hash of the one before it\n"
        }
        if let sentence = uncounted.sentence { text += "NOT COUNTED: \(sentence)\n" }
        if listing.count > listing.records.count {
            text +=
                "the newest \(listing.records.count) of \(listing.count.counted("record")) are listed; --limit lists more\n"
        }
        let line = listing.damage?.line ?? listing.lines
        guard line > 0, let path else { return text }
        let file = "'" + path.replacing("'", with: #"'\''"#) + "'"
        text +=
            "by hand: `sed -n \(line)p \(TerminalText.escaped(file)) | cut -b 76- | sha256sum` prints the hash that "
        text += "line \(line) states, and that the next one has as \"previous\"\n"
        return text
    }
}

extension EvidenceVerification {
    /// The result in one line.
    var sentence: String {
        if let damage { return "DAMAGED: line \(damage.line) of \(damage.file): \(damage.reason)" }
        if isCutOff { return "DAMAGED: it ends before what the stores remember of it, or is another user's" }
        let all = "\(records.counted("record")) in \(files.counted("file"))"
        guard let missingUpTo else { return "whole: \(all)" }
        return "INCOMPLETE: the archive that ends with record \(missingUpTo) is missing; \(all) are whole. The "
            + "checkpoint after it has the sum of the missing records, which can no longer be checked: put the file back"
    }
}

extension EvidenceEvent {
    /// The event and its details.
    var words: (what: String, details: String) {
        switch self {
        case .stageChanged(let from, let to, let epoch, let token, let reason, _, let because):
            (
                "\(from.rawValue) → \(to.rawValue)",
                "\(reason.rawValue), token \(token), epoch \(epoch)" + (because.map { ": \($0)" } ?? "")
            )
        case .admitted(let stage, let epoch): ("admitted: \(stage.rawValue)", "at epoch \(epoch)")
        case .backfilled(let token, let records): ("backfilled", "\(records.counted("record")), token \(token)")
        case .verified(let token, _, let verdict, let coverage, let differences, let anomalies, let ignored):
            (
                "verified: \(verdict)",
                "token \(token), \(Int(coverage * 100)) % covered, \(differences.counted("difference")), "
                    + "\(anomalies.counted("anomaly", plural: "anomalies")), "
                    + "\(ignored.counted("rule"))"
            )
        case .selfCompared(let side, let token, let isClean):
            ("compared with itself: \(isClean ? "clean" : "NOT CLEAN")", "the \(side.rawValue) store, token \(token)")
        case .shadowReads(
            let stage,
            let clean,
            let different,
            let skewed,
            let failed,
            let shed,
            let rerun,
            let timedOut,
            _
        ):
            (
                "shadow reads at \(stage.rawValue)",
                "\(clean) clean, \(different) different, \(rerun) asked again, \(skewed) skewed, \(failed) failed, "
                    + "\(timedOut) timed out, \(shed) shed"
            )
        case .difference(let stage, let token, let message, _):
            ("DIFFERENCE at \(stage.rawValue)", "token \(token): \(message)")
        case .repaired(let token, let records): ("repaired", "\(records.counted("record")), token \(token)")
        case .migrated(let from, let to, let token): ("migrated", "schema version \(from) to \(to), token \(token)")
        case .rehearsed(let token, let isClean, let message):
            ("rehearsed: \(isClean ? "the way back works" : "FAILED")", message ?? "token \(token)")
        case .killed(let trigger): ("killed", trigger)
        case .rearmed(let person): ("re-armed", "by \(person)")
        case .refused(let stage, let reasons):
            ("refused: \(stage.rawValue)", reasons.map(Self.lack).joined(separator: "; "))
        case .putBack(let what): ("PUT BACK", "\(what); what was proven before does not count")
        case .adopted(let engine, let epoch, let person, let reason):
            ("ADOPTED: the \(engine.rawValue) store", "by \(person), epoch \(epoch): \(reason)")
        case .resynced(let engine, let epoch, let token, let person, let reason):
            ("RESYNCED: the \(engine.rawValue) store", "by \(person), token \(token), epoch \(epoch): \(reason)")
        case .retired(let engine, let epoch, let token, let person):
            ("RETIRED: the \(engine.rawValue) store", "by \(person), token \(token), epoch \(epoch)")
        case .restored(let engine, let epoch, let token, let person, let reason):
            ("RESTORED: the \(engine.rawValue) store", "by \(person), token \(token), epoch \(epoch): \(reason)")
        case .reset(let reason, let person, let sequence, _, let sizeBytes, let file):
            (
                "RESET",
                "by \(person): \(reason); "
                    + (file.map { "what was there, \(sizeBytes) bytes up to record \(sequence), is in \($0)" }
                        ?? "there was nothing before")
            )
        case .checkpoint(let state):
            ("checkpoint", "\(state.records.counted("record")) before it, at \(state.stage.rawValue)")
        case .unknown(let kind): (kind, "written by a newer version")
        }
    }

    /// The missing evidence, without the gate's advice.
    private static func lack(_ reason: GateReason) -> String {
        let sentence = reason.description
        return String(sentence[..<(sentence.firstRange(of: ": ")?.lowerBound ?? sentence.endIndex)])
    }
}
