import ArgumentParser
import Foundation
import HabitStoreReports
import ShadowVerifier

/// The options of a comparison: what to ignore, a time limit, and files to write.
struct ComparisonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A JSON file of rules for differences to ignore.", valueName: "file"))
    var ignore: String?

    @Option(help: ArgumentHelp("Write the report as one HTML page.", valueName: "file"))
    var html: String?

    @Option(
        help: ArgumentHelp(
            "Record each listed difference, for `\(Tool.name) verify replay`; with --show-values also the values.",
            valueName: "file"
        )
    )
    var record: String?

    @Option(help: ArgumentHelp("End the comparison after this time.", valueName: "seconds"))
    var timeLimit: Double?

    /// Whether the command line has any of them.
    var isGiven: Bool { ignore != nil || html != nil || record != nil || timeLimit != nil }

    func validate() throws {
        guard let timeLimit else { return }
        guard timeLimit > 0, timeLimit.isFinite else {
            throw ValidationError("--time-limit is \(timeLimit); it must be more than 0 seconds")
        }
    }

    /// Applies them to the options of a comparison.
    func configure(_ options: inout VerificationOptions) throws {
        if let ignore { options.ignoreRules = try IgnoreRules.load(path: ignore) }
        if record != nil { options.recorder = MismatchRecorder() }
        options.timeLimitSeconds = timeLimit
        options.reportsErrors = true
    }

    /// Writes the files. A file with values is accessible to its owner only.
    func write(_ report: VerificationReport, _ recorder: MismatchRecorder?) throws {
        if let html {
            try OutputFile(path: html, beginning: VerificationPage.beginning)
                .write(VerificationPage(report).data)
        }
        if let record, let recording = recorder?.recording {
            try OutputFile(path: record, beginning: MismatchRecording.fileBeginning)
                .write(try recording.encoded())
        }
    }
}
