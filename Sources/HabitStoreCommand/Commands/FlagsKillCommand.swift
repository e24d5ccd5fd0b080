import ArgumentParser
import FeatureFlags
import Foundation
import HabitTracking

/// `habitstore flags kill`.
struct FlagsKillCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Pulls the kill switch, for everybody or for some users.",
        discussion: """
            For everybody the sentinel file is made first, and then the flag is set: where the flag file cannot be read or \
            changed, the sentinel file does it alone, whatever --by says. For some users only the flag can do it, and a \
            file that cannot be changed is an error.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: KillOptions

    func run() async throws {
        let (path, sentinel) = try await options.triggers()
        let flag = options.flag
        if let users = options.users {
            do throws(FlagError) {
                try FlagFile.update(path: path) { (text) throws(FlagError) in try text.killing(flag, users: users) }
            } catch {
                StandardError.note("nobody is killed; without --users the sentinel file stops everybody")
                throw error
            }
            try report(isFlagSet: true, sentinel: nil, path, nil)
            return
        }
        try killEverybody(path, sentinel)
    }

    /// Each trigger is tried, whatever became of the other; it is an error only where none of those asked for works.
    private func killEverybody(_ path: String, _ sentinel: SentinelFile) throws {
        let flag = options.flag
        var sentinelFailure: (any Error)?
        if options.by != .flag {
            do { try make(sentinel) } catch { sentinelFailure = error }
        }
        var flagFailure: FlagError?
        if options.by != .sentinel {
            do throws(FlagError) {
                try FlagFile.update(path: path) { (text) throws(FlagError) in try text.killing(flag) }
            } catch {
                flagFailure = error
                StandardError.note("the flag is not set: \(error)")
                if options.by == .flag { try make(sentinel) }
            }
        }
        let isFlagSet = options.by != .sentinel && flagFailure == nil
        if let sentinelFailure {
            guard isFlagSet else { throw sentinelFailure }
            StandardError.note("the flag does it alone: \(sentinelFailure)")
        }
        try report(isFlagSet: isFlagSet, sentinel: sentinel, path, flagFailure)
    }

    /// The root may not be there yet.
    private func make(_ sentinel: SentinelFile) throws {
        let folder = URL(fileURLWithPath: sentinel.path).deletingLastPathComponent()
        if options.sentinel == nil, !FileManager.default.fileExists(atPath: folder.path) {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        }
        try sentinel.create()
    }

    private func report(
        isFlagSet: Bool,
        sentinel: SentinelFile?,
        _ path: String,
        _ failure: FlagError?
    ) throws {
        let isPresent = sentinel?.isPresent ?? false
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "flag": isFlagSet ? .string(options.flag) : .null,
                    "flagFile": .string(path),
                    "flagError": .optional(failure?.description),
                    "sentinel": isPresent ? .optional(sentinel?.path) : .null,
                    "users": options.users.map { .array($0.map { .string($0) }) } ?? .null,
                ])
            )
        case .text:
            let whom = options.users.map { $0.joined(separator: ", ") } ?? "everybody"
            var lines = ["killed for \(whom)"]
            if isFlagSet { lines.append("  by the flag \(options.flag) in \(path)") }
            if isPresent, let sentinel { lines.append("  by the sentinel file \(sentinel.path)") }
            try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
    }
}
