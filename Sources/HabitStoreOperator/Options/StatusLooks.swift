import Foundation
import HabitStoreRollout

/// Where users are, looked at again and again: whoever may have become different by the signs that can be had without opening
/// a store, and now and then everybody.
struct StatusLooks {
    /// How often control files are read.
    private static let lookSeconds = 0.1
    /// How often everything is read that tells of a change without opening a store.
    private static let signsSeconds = 1.0
    /// How often everybody is looked at: what other programs do to a store shows nowhere else.
    private static let fullSeconds = 10.0
    /// How much longer than a look everything waits for the next one of its kind: many users are not looked at all the time.
    private static let rest = 4

    private let options: PolicyOptions
    private var jobs: JobOptions
    private var stores: UserStores?
    private var listing = UserListing(users: [])
    private var root: RootSigns?
    private var signs: [UserKey: UserSigns] = [:]
    private var found: [UserKey: Result<UserStatus, any Error>] = [:]
    private(set) var timeZone = TimeZone.current
    /// The folder under which users have their folders.
    private(set) var folder = ""
    private var signsAreDue = ContinuousClock.now
    private var fullIsDue = ContinuousClock.now
    /// How long to wait before the next look.
    private(set) var pause = Duration.seconds(lookSeconds)

    init(options: PolicyOptions, jobs: JobOptions) { (self.options, self.jobs) = (options, jobs) }

    /// The users who could be looked at.
    var statuses: [UserStatus] { listing.users.compactMap { try? found[UserKey($0)]?.get() } }

    /// Why the others could not be, and of which folders nobody can tell whose they are.
    var failures: [any Error] {
        listing.users.compactMap { user in
            guard case .failure(let error) = found[UserKey(user)] else { return nil }
            return error
        } + listing.unknown
    }

    /// Looks at everybody.
    ///
    /// - Throws: what is wrong with the settings, the policy or the root; that a user who is named is not there.
    mutating func lookAtAll() async throws {
        let start = ContinuousClock.now
        let settings = try await readSettings()
        if options.userOptions.user != nil { try stores?.check(settings.user) }
        await look(at: listing.users)
        // A bar is for the first look, which somebody waits for.
        jobs.quiet = true
        plan(since: start, isFull: true)
    }

    /// Looks at the users who may have become different.
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

    /// Reads what is the same for all: settings, flag files, who there is.
    @discardableResult
    private mutating func readSettings() async throws -> Settings {
        let (settings, stores) = try await options.stores(otherVersions: .asWrittenByAnyApp)
        listing = try options.userOptions.user.map { UserListing(users: [$0]) } ?? stores.users()
        (self.stores, root, timeZone, folder) = (stores, stores.signs, settings.timeZone, settings.root)
        return settings
    }

    private mutating func look(at users: [String]) async {
        guard let stores else { return }
        // Read before the stores: what changes meanwhile is seen by the next look.
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
