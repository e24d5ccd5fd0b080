import ArgumentParser
import Dispatch
import Foundation
import HabitStore
import HabitStoreRollout
import JSONText
import Synchronization

/// Selects users' stores with `--root`, `--user`, `--flags` and the like; an app's own commands can include it as an `@OptionGroup`.
public struct UserOptions: ParsableArguments {
    @Option(help: "The folder of all users' stores. [$\(Tool.environment)_ROOT; default: ~/.local/share/\(Tool.name)]")
    package var root: String?

    @Option(
        help: ArgumentHelp(
            "The name of the store, if users have several.",
            discussion: "[$\(Tool.environment)_STORE_NAME; default: the one without a name]"
        )
    )
    package var storeName: String?

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("The user. [$\(Tool.environment)_USER; default: the login name]", valueName: "user")
    )
    package var users: [String] = []

    @Option(
        help: ArgumentHelp(
            "The flag file that says which engine the user is on; empty for none.",
            discussion: "[$\(Tool.environment)_FLAGS; default: habit-store.flagd.json under the root, if it is there]"
        )
    )
    package var flags: String?

    @Option(
        help: ArgumentHelp(
            "Servers that users' stores may be on, by the names that flag files have for them.",
            discussion:
                "NAME=postgresql://…, separated by spaces. [$\(Tool.environment)_SERVERS; default: none]"
        )
    )
    package var servers: String?

    @Option(
        help: ArgumentHelp(
            "A file of keys that seal and prove the evidence, one per line, for its owner only.",
            discussion: "[$\(Tool.environment)_EVIDENCE_KEY_FILE; default: none]"
        )
    )
    package var evidenceKeyFile: String?

    @Option(help: "The time zone in which days are counted. [$\(Tool.environment)_TIME_ZONE; default: the system's]")
    package var timeZone: String?

    @Option(
        help: ArgumentHelp(
            "A JSON file with any of the keys root, storeName, user, flags, servers, policy, evidenceKeyFile, timeZone, openUsers.",
            discussion: "[default: $XDG_CONFIG_HOME/\(Tool.name)/config.json, if it is there]"
        )
    )
    package var config: String?

    /// Creates the options without values.
    public init() {}

    /// The user that the command line names. If it names several, most commands refuse it.
    package var user: String? {
        get { users.first }
        set { users = newValue.map { [$0] } ?? [] }
    }

    /// Checks that a command for all users names none.
    func requireNoUser(with all: Bool) throws {
        guard !all || user == nil else { throw ValidationError("give --user or --all, not both") }
    }

    /// Whether the command line itself selects users' stores.
    package var isGiven: Bool { root != nil || storeName != nil || user != nil }

    /// Opens the users' stores as all commands do: users are not moved in the background, and flags and the kill switch are read when a user is
    /// opened.
    ///
    /// - Returns: the stores and the selected user.
    /// - Throws: an error in the settings, in one line.
    public func stores() async throws -> (stores: UserStores, user: String) {
        let settings = try await Settings(self)
        return (try settings.stores(), settings.user)
    }
}

/// The evidence that the gate of a `rollout` command asks for. Commands list ``UserOptions`` separately: debug builds of
/// ArgumentParser validate a group several times for each group around it, which was most of a command's time.
struct PolicyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A JSON file that says how much evidence the gate asks for.",
            discussion: "[$\(Tool.environment)_POLICY; default: habit-store.policy.json under the root, if it is there]"
        )
    )
    var policy: String?

    /// The settings, and the stores under the root with this policy. Stores of earlier schema versions stay unmigrated: verifying or moving users
    /// with a newer command must not lock out programs that are not updated yet.
    func stores(
        of userOptions: UserOptions,
        queries: String? = nil,
        otherVersions: RolloutOptions.OtherVersions = .asWritten
    ) async throws -> (settings: Settings, stores: UserStores) {
        let settings = try await Settings(userOptions)
        let path = policy ?? settings.policy
        return (
            settings,
            try settings.stores(
                gate: try path.map { try GatePolicy.load(path: $0) },
                queries: queries,
                otherVersions: otherVersions
            )
        )
    }
}

/// Options that list users.
struct NamedUsers: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only these users, separated by commas; repeatable.",
            discussion:
                "An id with a comma in it is one user if that user exists. --user and --users-file take ids unchanged.",
            valueName: "a,b"
        )
    )
    var users: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only the users of this file: one id a line, or a JSON array of ids.",
            valueName: "file"
        )
    )
    var usersFile: String?

    /// Whether no list is given.
    var isEmpty: Bool { users.isEmpty && usersFile == nil }

    func validate() throws {
        let ids = users.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        guard !ids.contains("") else {
            throw ValidationError("an id in --users is empty; separate ids by commas, as in ada,berta")
        }
    }

    /// The listed users, without duplicates; nil if no option lists any.
    ///
    /// - Parameters:
    ///   - exact: ids given one by one.
    ///   - root: the folder of the users' folders; nil if it is unknown.
    /// - Throws: a usage error for an ambiguous list or a file without users.
    func ids(and exact: [String], root: String?) throws -> [String]? {
        guard !isEmpty || !exact.isEmpty else { return nil }
        let ids =
            try exact + users.flatMap { try Self.ids(in: $0, root: root) }
            + (try usersFile.map(Self.ids(ofFile:)) ?? [])
        // By bytes: ids that differ only in their Unicode form are two users.
        var named: Set<[UInt8]> = []
        return ids.filter { named.insert(Array($0.utf8)).inserted }
    }

    /// The ids in one option. A comma may be part of an id: then the text is one id, and ambiguous if its parts are users as well.
    private static func ids(in text: String, root: String?) throws -> [String] {
        let parts = text.split(separator: ",").map(String.init)
        guard let root, parts.count > 1, hasFolder(text, root) else { return parts }
        guard parts.contains(where: { hasFolder($0, root) }) else { return [text] }
        let options = parts.map { "--user " + ShellWord.quoted($0) }.joined(separator: " ")
        throw CommandFailure.usage(
            "--users \(ShellWord.quoted(text)) is one user, and the list of \(parts.count.counted("user")): write `--user \(ShellWord.quoted(text))` for the one, "
                + "or `\(options)`; no user was killed or re-armed"
        )
    }

    private static func hasFolder(_ user: String, _ root: String) -> Bool {
        guard let path = try? UserDirectory(root: root, user: user).path else { return false }
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The ids in a file, unchanged.
    private static func ids(ofFile path: String) throws -> [String] {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the list of users cannot be read",
                at: .init(path: path),
                underlying: error
            )
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure.usage("\(path): the list of users is not UTF-8")
        }
        var ids = text.split(separator: "\n").map(String.init)
        if text.first(where: { !$0.isWhitespace }) == "[" {
            guard let array = try? JSONDecoder().decode([String].self, from: bytes) else {
                throw CommandFailure.usage("\(path): the list begins like a JSON array, but is not an array of strings")
            }
            ids = array
        }
        guard !ids.isEmpty, !ids.contains("") else {
            throw CommandFailure.usage("\(path): the list is empty, or has an empty id")
        }
        return ids
    }
}

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

/// Does the same work for many users, several at the same time. One user's failure does not affect others.
struct UserWork {
    /// The number of users at the same time.
    let jobs: Int
    /// Stores wait for disks and locks, and Swift's task threads must not.
    private let queue = DispatchQueue(label: "habitstore.users", attributes: .concurrent)

    init(jobs: Int) { self.jobs = max(1, jobs) }

    /// Runs the work for all users.
    ///
    /// - Parameter progress: receives how many users are done.
    /// - Returns: the results in the order of the users.
    func run<R: Sendable>(
        _ users: [String],
        _ work: @escaping @Sendable (String) throws -> R,
        progress: (Int) -> Void
    ) async -> [UserResult<R>] {
        var results: [Int: UserResult<R>] = [:]
        progress(0)
        await withTaskGroup(of: (Int, UserResult<R>).self) { group in
            var waiting = users.enumerated().makeIterator()
            func begin() {
                guard let (index, user) = waiting.next() else { return }
                group.addTask { (index, await perform(user, work)) }
            }
            for _ in 0..<jobs { begin() }
            for await (index, result) in group {
                results[index] = result
                progress(results.count)
                begin()
            }
        }
        return results.sorted { $0.key < $1.key }.map(\.value)
    }

    private func perform<R: Sendable>(
        _ user: String,
        _ work: @escaping @Sendable (String) throws -> R
    ) async -> UserResult<R> {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: UserResult(user: user, result: Result { try work(user) })) }
        }
    }
}

/// The result of the work for one user.
struct UserResult<R: Sendable>: Sendable {
    let user: String
    let result: Result<R, any Error>
}

extension UserResult<Bool> {
    /// The user, the result under a name, and the error, as JSON.
    func json(_ name: String) -> JSONObject {
        var message: String?
        if case .failure(let error) = result { message = ErrorReport.message(of: error, for: user) }
        return [
            "user": user,
            name: (try? result.get()) ?? false,
            "error": message,
        ]
    }
}

extension Array {
    /// The users for whom the work failed, and the errors.
    func failures<R>() -> [(user: String, error: any Error)] where Element == UserResult<R> {
        compactMap { result in
            guard case .failure(let error) = result.result else { return nil }
            return (result.user, error)
        }
    }
}

extension UserStores {
    /// Runs `body` with the store of an existing user and closes it. A misspelt name must not create a user.
    package func withExisting<R>(_ user: String, _ body: (UserStore) throws -> R) throws -> R {
        let store = try existingStore(for: user)
        defer { store.close() }
        return try body(store)
    }

    /// Runs `body` with the store of a command's only user, and prints the notes from opening it.
    package func withOnly<R>(_ user: String, _ body: (UserStore) throws -> R) throws -> R {
        try withExisting(user) { store in
            for note in store.notes { StandardError.note(note) }
            return try body(store)
        }
    }
}

/// A user as in the commands that messages advise. The library does not put users' ids into its messages, and writes `--user U`; the command knows
/// the user, and the root and the store's name that its own command line had.
package struct AdvisedUser: Sendable {
    /// The other options that the command line gave.
    private struct Given {
        var user: String?
        var isNamed = false
        var options = ""
    }

    private static let given = Mutex(Given())

    /// The user's id as typed into a shell, and the other options.
    package let words: String

    package init(_ user: String) { words = ShellWord.quoted(user) + Self.given.withLock(\.options) }

    /// - Parameter store: the name of the user's store, where the command line selects all stores.
    init(_ user: String, store: StoreName?) {
        let advised = AdvisedUser(user).words
        let name = store.map { " --store-name " + $0.text } ?? ""
        words = advised.contains(" --store-name ") ? advised : advised + name
    }

    /// Remembers the process's command line.
    ///
    /// - Parameters:
    ///   - user: the user.
    ///   - isNamed: whether an argument of the command names the user, which counts more than the settings.
    static func note(_ options: UserOptions, user: String, isNamed: Bool = false) {
        let given = [
            ("--root", options.root), ("--store-name", options.storeName), ("--flags", options.flags),
        ]
        let words = given.compactMap { name, value in value.map { " \(name) \(ShellWord.quoted($0))" } }
        Self.given.withLock { given in
            given.options = words.joined()
            guard isNamed || !given.isNamed else { return }
            (given.user, given.isNamed) = (user, isNamed)
        }
    }

    /// Forgets the settings' user: the lines of a fleet's run are about any of its users.
    static func forgetUser() { given.withLock { $0.user = nil } }

    /// A message with the user of the process's command line in its commands.
    static func filled(_ text: String) -> String {
        given.withLock(\.user).map { AdvisedUser($0).filled(text) } ?? text
    }

    /// A message with the user whom it is about in its commands; unchanged for nil.
    static func filled(_ text: String, about user: String?) -> String {
        user.map { AdvisedUser($0).filled(text) } ?? text
    }

    /// A message with this user in its commands.
    package func filled(_ text: String) -> String {
        guard text.contains("--user U") else { return text }
        return text.replacing(/--user U(?=[` ])/, with: "--user " + words)
    }

    /// Runs `body`, and fills in the message of its error.
    func filling<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as HabitStoreError {
            throw HabitStoreError(
                error.code,
                filled(error.message),
                at: error.location,
                detail: error.detail,
                underlying: error.underlying,
                isDamage: error.isDamage
            )
        }
    }
}

/// Arguments name engines.
extension EngineName: ExpressibleByArgument {}

/// Arguments name stages.
extension Stage: ExpressibleByArgument {}
