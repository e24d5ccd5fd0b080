import ArgumentParser
import HabitStore
import ShadowVerifier

extension ExitStatus {
    /// What a verdict ends the command with.
    init(_ report: VerificationReport) {
        switch report.verdict {
        case .match: self = .success
        case .mismatch, .skewed: self = .different
        case .ignored: self = .ignored
        case .timedOut: self = .temporaryFailure
        case .error: self = report.failure.map { ErrorReport.status(of: .init(rawValue: $0.code)) } ?? .data
        }
    }

    /// Ends the command, unless the stores match.
    ///
    /// - Throws: the exit code; for a store that could not be read, also the line that says so.
    static func end(with report: VerificationReport) throws {
        let status = ExitStatus(report)
        if let failure = report.failure { throw CommandFailure(status: status, message: failure.message) }
        if status != .success { throw ExitCode(status.rawValue) }
    }
}
