import ArgumentParser
import FeatureFlags
import HabitTracking

/// `habitstore flags rearm`.
struct FlagsRearmCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rearm",
        abstract: "Takes back what flags kill did, for everybody or for some users.",
        discussion: """
            The flag is taken back first, and the sentinel file removed after it: where the flag file cannot be changed, \
            the sentinel file stays, and the kill switch with it.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: KillOptions

    func run() async throws {
        let (path, sentinel) = try await options.triggers()
        let flag = options.flag
        let users = options.users
        var isFlagRearmed = false
        if options.by != .sentinel {
            do throws(FlagError) {
                let (old, new) = try FlagFile.update(path: path) { (text) throws(FlagError) in
                    try text.rearming(flag, users: users)
                }
                isFlagRearmed = old.bytes != new.bytes
            } catch {
                // A flag that is not there is not pulled.
                guard users == nil, error.code == .flagNotFound || error.code == .fileNotFound else { throw error }
                StandardError.note("\(error)")
            }
        }
        let isRemoved = options.by != .flag && users == nil ? try sentinel.remove() : false
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "isFlagRearmed": .bool(isFlagRearmed),
                    "isSentinelRemoved": .bool(isRemoved),
                    "flag": .string(flag),
                    "flagFile": .string(path),
                    "isSentinelPresent": .bool(sentinel.isPresent),
                    "sentinel": .string(sentinel.path),
                ])
            )
        case .text:
            var lines: [String] = []
            if isFlagRearmed { lines.append("the flag \(flag) in \(path) is taken back") }
            if isRemoved { lines.append("the sentinel file \(sentinel.path) is removed") }
            if lines.isEmpty { lines.append("nothing was pulled") }
            if sentinel.isPresent { lines.append("the sentinel file \(sentinel.path) is still there, and kills") }
            try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
    }
}
