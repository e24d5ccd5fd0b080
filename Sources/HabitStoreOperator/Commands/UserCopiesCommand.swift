import ArgumentParser
import Foundation
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore user copies`.
struct UserCopiesCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "copies",
            abstract: "Lists the copies that migrations made of users' stores, and removes them.",
            usage: """
                \(Tool.name) user copies USER [--remove] [--older-than DAYS]
                \(Tool.name) user copies --all [--remove] [--older-than DAYS]
                """,
            discussion: """
                Before a custom stage, or one that drops an attribute or an entity, a migration copies the store to a \
                file next to it, and leaves it there. Nothing is changed without --remove, which removes copies that \
                are at least 30 days old, or as old as --older-than says, and leaves those of a user none of whose \
                stores has a later version.
                Exit codes: 0 done; 65, 74 as everywhere, for the first user whose folder could not be read.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @Argument(help: "The user.")
    var user: String?

    @Flag(help: "All users under the root.")
    var all = false

    @Flag(help: "Remove the copies that are old enough.")
    var remove = false

    @Option(
        help: ArgumentHelp(
            "Only copies that are at least this many days old. [default: 30 with --remove]",
            valueName: "days"
        )
    )
    var olderThan: Double?

    func validate() throws {
        if let olderThan, !(0...36_500).contains(olderThan) {
            throw ValidationError("--older-than is 0 to 36500 days")
        }
        guard all else {
            _ = try userOptions.named(by: user)
            return
        }
        guard user == nil, userOptions.user == nil else {
            throw ValidationError("name a user, or give --all, and only one of these")
        }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let listing = try all ? stores.users() : UserListing(users: [userOptions.named(by: user)])
        let (removes, age) = (remove, olderThan.map { $0 * 24 * 3_600 })
        let results = await jobOptions.run(removes ? "removing" : "looking", listing) { user in
            guard removes else {
                let limit = Date(timeIntervalSinceNow: -(age ?? 0))
                return try stores.migrationCopies(of: user).filter { $0.made <= limit }
            }
            return try stores.removeMigrationCopies(
                of: user,
                olderThanSeconds: age ?? MigrationCopy.retentionSeconds
            )
        }
        switch output.format {
        case .json: try JSON.write(json(results))
        case .text: try Output.write(text(results))
        }
        guard let failure = results.failures().first else { return }
        throw ExitCode(ErrorReport(failure.error, showsDetail: false).status.rawValue)
    }

    private func text(_ results: [UserResult<[MigrationCopy]>]) -> String {
        var lines: [String] = []
        var (count, bytes) = (0, 0)
        for result in results {
            switch result.result {
            case .success(let copies):
                count += copies.count
                bytes += copies.reduce(0) { $0 + $1.sizeBytes }
                lines += copies.map { copy in
                    let kept = copy.neededBecause.map { "; needed: \($0)" } ?? ""
                    return
                        "\(result.user): \(copy.path), version \(copy.version) at token \(copy.token), \(copy.sizeBytes) bytes, "
                        + "made \(ISODate.instant(copy.made))\(kept)"
                }
            case .failure(let error):
                lines.append("\(result.user): FAILED: \(ErrorReport.message(of: error))")
            }
        }
        lines.append(
            "\(count) \(count == 1 ? "copy" : "copies"), \(bytes) bytes\(remove ? ", removed" : "")"
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    private func json(_ results: [UserResult<[MigrationCopy]>]) -> JSON {
        .object([
            "removed": .bool(remove),
            "users": .array(
                results.map { result in
                    var members: [String: JSON] = ["user": .string(result.user)]
                    switch result.result {
                    case .success(let copies): members["copies"] = .array(copies.map(json))
                    case .failure(let error): members["error"] = .string(ErrorReport.message(of: error))
                    }
                    return .object(members)
                }
            ),
        ])
    }

    private func json(_ copy: MigrationCopy) -> JSON {
        .object([
            "engine": .string(copy.engine.rawValue),
            "version": .string(copy.version.description),
            "token": .int(Int(copy.token.rawValue)),
            "path": .string(copy.path),
            "sizeBytes": .int(copy.sizeBytes),
            "made": .string(ISODate.instant(copy.made)),
            "neededBecause": .optional(copy.neededBecause),
        ])
    }
}
