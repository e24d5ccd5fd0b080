import ArgumentParser
import Foundation
import HabitStoreRollout

/// Options for commands that work on many users.
struct JobOptions: ParsableArguments {
    static let maximumJobs = 256

    @Option(
        help: ArgumentHelp(
            "How many users to process at the same time. [default: the number of processors, eight times that for a kill]"
        )
    )
    var jobs: Int?

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard let jobs, !(1...Self.maximumJobs).contains(jobs) else { return }
        throw ValidationError("--jobs is \(jobs); it can be 1 to \(Self.maximumJobs)")
    }

    /// Runs the work for each user and shows the progress.
    ///
    /// - Parameter jobsEach: how many users each processor works on at the same time, unless `--jobs` says otherwise.
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

    /// Runs the work for all users under a root. A folder whose user is unknown counts as a failure: a command for all users must not pass over any.
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
