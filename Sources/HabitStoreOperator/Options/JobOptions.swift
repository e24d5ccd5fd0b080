import ArgumentParser
import Foundation
import HabitStoreRollout

/// How the work on many users is done.
struct JobOptions: ParsableArguments {
    static let maximumJobs = 256

    @Option(
        help: ArgumentHelp(
            "How many users are worked on at once. [default: as many as there are processors, eight times that for a kill]"
        )
    )
    var jobs: Int?

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard let jobs, !(1...Self.maximumJobs).contains(jobs) else { return }
        throw ValidationError("--jobs is \(jobs); it can be 1 to \(Self.maximumJobs)")
    }

    /// Does a piece of work for each of some users, and shows how many are done.
    ///
    /// - Parameter jobsEach: how many are worked on at once for each processor, where nobody says otherwise.
    func run<R: Sendable>(
        _ label: String,
        _ users: [String],
        jobsEach: Int = 1,
        _ work: @escaping @Sendable (String) throws -> R
    ) async -> [UserResult<R>] {
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let count = min(jobs ?? ProcessInfo.processInfo.activeProcessorCount * jobsEach, Self.maximumJobs)
        return await UserWork(jobs: count).run(users, work) { bar.show(label, $0, users.count) }
    }

    /// Does a piece of work for everybody under a root. A folder of which nobody can tell whose it is counts as a user for whom
    /// it went wrong: a command for all must not pass over anybody.
    func run<R: Sendable>(
        _ label: String,
        _ listing: UserListing,
        jobsEach: Int = 1,
        _ work: @escaping @Sendable (String) throws -> R
    ) async -> [UserResult<R>] {
        await run(label, listing.users, jobsEach: jobsEach, work)
            + listing.unknown.map { error in
                let folder = error.location.path.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "?"
                return UserResult(user: folder, result: .failure(error))
            }
    }
}
