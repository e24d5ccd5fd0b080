import Foundation
import HabitStoreRollout

/// Examines users repeatedly: those whose files have changed, which needs no open store, and occasionally all.
struct StatusLooks {
    /// How often control files are read.
    private static let lookSeconds = 0.1
    /// How often to read all files that show a change without opening a store.
    private static let signsSeconds = 1.0
    /// How often to examine all users: some changes by other programs show only in the store.
    private static let fullSeconds = 10.0
    /// The shortest pause until the next look of the same kind, as a multiple of the last look's duration.
    private static let rest = 4

    private let options: PolicyOptions
    private var jobs: JobOptions
    private var stores: UserStores?
    private var listing = UserListing(users: [])
    private var root: RootSigns?
    private var signs: [UserKey: UserSigns] = [:]
    private var found: [UserKey: Result<UserStatus, any Error>] = [:]
    private(set) var timeZone = TimeZone.current
    /// The folder of the users' folders.
    private(set) var folder = ""
    private var signsAreDue = ContinuousClock.now
    private var fullIsDue = ContinuousClock.now
    /// How long to wait before the next look.
    private(set) var pause = Duration.seconds(lookSeconds)

    init(options: PolicyOptions, jobs: JobOptions) { (self.options, self.jobs) = (options, jobs) }

    /// The status of the users who could be examined.
    var statuses: [UserStatus] { listing.users.compactMap { try? found[UserKey($0)]?.get() } }

    /// Why the others could not be examined, and the folders whose users are unknown.
    var failures: [any Error] {
        listing.users.compactMap { user in
            guard case .failure(let error) = found[UserKey(user)] else { return nil }
            return error
        } + listing.unknown
    }

    /// Examines all users.
    ///
    /// - Throws: an error in the settings, the policy or the root, or if a named user does not exist.
    mutating func lookAtAll() async throws {
        let start = ContinuousClock.now
        let settings = try await readSettings()
        if options.userOptions.user != nil { try stores?.check(settings.user) }
        await look(at: listing.users)
        // Show progress only for the first look, which a person waits for.
        jobs.quiet = true
        plan(since: start, isFull: true)
    }

    /// Examines the users who may have changed.
    ///
    /// - Returns: whether there were any.
    mutating func lookAgain() async throws -> Bool {
        let start = ContinuousClock.now
        let (isFull, readsAll) = (start >= fullIsDue, start >= signsAreDue)
        let (before, known) = (root, listing)
        if isFull || readsAll { try await readSettings() }
        let isForAll = isFull || root != before
        let concerned = listing.users.filter { user in
            guard !isForAll, let last = signs[UserKey(user)], let now = try? stores?.signs(of: user) else {
                return true
            }
            return readsAll ? now != last : now.place != last.place
        }
        await look(at: concerned)
        if isFull || readsAll { plan(since: start, isFull: isFull) }
        pause = max(.seconds(Self.lookSeconds), ContinuousClock.now - start)
        return !concerned.isEmpty || listing.users != known.users
            || listing.unknown.map(\.description) != known.unknown.map(\.description)
    }

    /// Reads what is common to all users: settings, flag files, and the list of users.
    @discardableResult
    private mutating func readSettings() async throws -> Settings {
        let (settings, stores) = try await options.stores(otherVersions: .asWrittenByAnyApp)
        listing = try options.userOptions.user.map { UserListing(users: [$0]) } ?? stores.users()
        (self.stores, root, timeZone, folder) = (stores, stores.signs, settings.timeZone, settings.root)
        return settings
    }

    private mutating func look(at users: [String]) async {
        guard let stores else { return }
        // Signs before stores: the next look notices a change in between.
        for user in users { signs[UserKey(user)] = try? stores.signs(of: user) }
        for result in await jobs.run("looking", users, { try stores.status(of: $0) }) {
            found[UserKey(result.user)] = result.result
        }
    }

    private mutating func plan(since start: ContinuousClock.Instant, isFull: Bool) {
        let now = ContinuousClock.now
        signsAreDue = now + max(.seconds(Self.signsSeconds), (now - start) * Self.rest)
        if isFull { fullIsDue = now + max(.seconds(Self.fullSeconds), (now - start) * Self.rest) }
    }
}
