import ArgumentParser
import FeatureFlags
import Foundation
import HabitStore
import HabitStoreRollout
import JSONText
import ShadowVerifier

/// The output of an error: text for standard error (or, for help, standard output), a JSON object, and the exit code.
package struct ErrorReport {
    let status: ExitStatus
    private var standardOutput = ""
    private var lines: [String] = []
    /// The error's code and location, if it has any.
    private var code: String?
    private var location: FlagError.Location?

    init(_ error: any Error, showsDetail: Bool) {
        switch error {
        case is OutputClosed: status = .outputClosed
        case let error as CommandFailure:
            status = error.status
            lines = [Self.line(error.message, showsDetail ? error.detail : nil)] + error.illustration
        case let error as HabitStoreError:
            status = Self.status(of: error.code)
            code = error.code.rawValue
            lines = [Self.line(Self.text(of: error), showsDetail ? error.detail : nil)]
        case let error as FlagError:
            status = Self.status(of: error.code)
            code = error.code.rawValue
            location = error.location
            lines = [Self.line(error.description, nil)]
        default:
            let command = Tool.current.command
            let code = command.exitCode(for: error)
            if code.isSuccess {
                status = .success
                standardOutput = command.fullMessage(for: error)
            } else if error is ExitCode {
                status = ExitStatus(rawValue: code.rawValue)
            } else if code == .validationFailure {
                status = .usage
                lines = [Self.line(command.message(for: error), nil)]
            } else {
                // All other errors come from the system: a file could not be listed, copied or removed.
                status = .inputOutput
                lines = [Self.line((error as? CocoaError)?.localizedDescription ?? "\(error)", nil)]
            }
        }
    }

    /// The lines for standard error.
    var text: String { lines.map { $0 + "\n" }.joined() }

    /// The error as JSON.
    var json: JSONObject {
        [
            "code": code,
            "exitCode": status.rawValue,
            "message": lines.first.map { String($0.dropFirst(Self.prefix.count)) },
            "location": location?.json,
        ]
    }

    /// Writes the text and, for programs that read standard output, the JSON object if nothing was written there yet.
    ///
    /// - Parameter asLine: whether the object is one of several, each on its own line.
    func emit(asJSON: Bool = false, asLine: Bool = false) -> ExitStatus {
        StandardError.write(text)
        if asJSON, !lines.isEmpty, !Output.isUsed {
            do {
                try Output.write(try Answer.document(["error": json] as JSONObject).text(asLine: asLine))
            } catch {
                return error is OutputClosed ? .outputClosed : .inputOutput
            }
        }
        guard !standardOutput.isEmpty else { return status }
        do {
            try Output.write(standardOutput.hasSuffix("\n") ? standardOutput : standardOutput + "\n")
            return status
        } catch {
            return error is OutputClosed ? .outputClosed : .inputOutput
        }
    }

    private static var prefix: String { "\(Tool.name): error: " }

    private static func line(_ message: String, _ detail: String?) -> String {
        let words = message.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
        let text = AdvisedUser.filled(words.joined(separator: " ")) + (detail.map { " (\($0))" } ?? "")
        return prefix + TerminalText.escaped(Passwords.redacted(text))
    }

    /// The store leaves out an unknown name, since it may come from anywhere. Here, the user typed it.
    private static func text(of error: HabitStoreError) -> String {
        switch error.code {
        case .unknownAttribute:
            if let name = error.location.attribute { return "\"\(name)\": \(error.description)" }
        case .unknownEntity:
            if let name = error.location.entity { return "\"\(name)\": \(error.description)" }
        default: break
        }
        return described(error)
    }

    /// The error's line and, if its user does not exist, the user with the most similar id.
    private static func described(_ error: HabitStoreError) -> String {
        guard let missing = error.underlying as? NoSuchUser else { return error.description }
        return error.description + NearMiss.question(missing.user, among: missing.others)
    }

    private static func status(of code: FlagError.Code) -> ExitStatus {
        switch code {
        case .flagNotFound, .editRefused, .invalidContext: .usage
        case .fileNotFound, .notAFile, .fileUnreadable, .fileUnwritable, .fileBusy: .inputOutput
        default: .data
        }
    }

    /// An error as one line within a report.
    package static func message(of error: any Error) -> String {
        (error as? HabitStoreError).map(described)
            ?? Passwords.redacted((error as? FlagError)?.description ?? "\(error)")
    }

    /// The same in a report on several users, with this one in the commands that it advises.
    package static func message(of error: any Error, for user: String) -> String {
        AdvisedUser(user).filled(message(of: error))
    }

    /// The exit code of a store's error.
    static func status(of code: HabitStoreError.Code) -> ExitStatus {
        switch code {
        case .invalidQuery, .unknownEntity, .unknownAttribute, .invalidValue, .uniqueViolation, .deleteDenied,
            .danglingReference, .evaluationFailed, .unsupported, .limitExceeded:
            return .usage
        case .notFound, .permissionDenied, .full, .inputOutput, .busy, .outcomeUnknown, .closed, .transactionEnded,
            .fileMoved:
            return .inputOutput
        default:
            return .data
        }
    }
}

/// The command's exit code. Values from 64 on are those of `sysexits.h`.
package struct ExitStatus: RawRepresentable, Equatable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// Done; two stores are identical.
    package static let success = ExitStatus(rawValue: 0)
    /// Two stores differ, a fixture failed, a store or the evidence is damaged, or the gate refused.
    package static let different = ExitStatus(rawValue: 1)
    /// Two stores differ, but rules ignore all differences.
    package static let ignored = ExitStatus(rawValue: 2)
    /// Wrong arguments: options, names, or an invalid filter.
    package static let usage = ExitStatus(rawValue: 64)
    /// Data that cannot be read: damaged, not a store, or of a newer version.
    package static let data = ExitStatus(rawValue: 65)
    /// A file that cannot be used: missing, no permission, no space, or busy.
    package static let inputOutput = ExitStatus(rawValue: 74)
    /// The time limit was reached; another try may succeed.
    package static let temporaryFailure = ExitStatus(rawValue: 75)
    /// The reader of the output went away; shells report a process that SIGPIPE ended with this code.
    package static let outputClosed = ExitStatus(rawValue: 141)
}

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

/// An error of the command itself: one line, perhaps a filter's lines with a caret, and the exit code.
package struct CommandFailure: Error {
    let status: ExitStatus
    let message: String
    /// A filter, and a caret below it.
    let illustration: [String]
    /// Users' values, shown only on request.
    let detail: String?

    package init(status: ExitStatus, message: String, illustration: [String] = [], detail: String? = nil) {
        (self.status, self.message, self.illustration, self.detail) = (status, message, illustration, detail)
    }

    package static func usage(_ message: String) -> CommandFailure { CommandFailure(status: .usage, message: message) }
}
