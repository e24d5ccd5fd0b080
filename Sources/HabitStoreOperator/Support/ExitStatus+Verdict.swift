import ArgumentParser
import HabitStore
import ShadowVerifier

extension ExitStatus {
    /// The exit code for a verdict.
    init(_ report: VerificationReport) {
        switch report.verdict {
        case .match: self = .success
        case .mismatch, .skewed: self = .different
        case .ignored: self = .ignored
        case .timedOut: self = .temporaryFailure
        case .error: self = report.failure.map { ErrorReport.status(of: .init(rawValue: $0.code)) } ?? .data
        }
    }

    /// Throws an exit code unless the stores match.
    ///
    /// - Throws: the exit code, and an error message if a store could not be read.
    static func end(with report: VerificationReport) throws {
        let status = ExitStatus(report)
        if let failure = report.failure { throw CommandFailure(status: status, message: failure.message) }
        if status != .success { throw ExitCode(status.rawValue) }
    }
}
