import FeatureFlags
import Foundation
import HabitStore
import ShadowVerifier

/// The stores of all users under one root, each opened with the engine that the flag file names for its user.
///
/// A toggle never shows a user an empty or an older store: the wanted store is first brought to the current one's token
/// and verified against it, and only then served. Where that does not come out clean, or the flag file is missing or
/// broken, the user stays where the data is current, and the reason is in ``OpenedStore/notes``.
public final class UserStores: Sendable {
    /// The flag whose string value names the engine.
    public static let backendFlag = "habit-store-backend"
    /// The engine of new users when no flag file says otherwise.
    public static let defaultEngine = EngineName.sqlite

    private let root: String
    private let flagsPath: String?
    private let schema: Schema
    private let queries: [QueryFile.Query]

    /// Stores under `root`.
    ///
    /// - Parameters:
    ///   - flags: the path of the flag file; nil leaves everybody where they are.
    ///   - queries: what a verification before a switch compares besides counts, relationships and contents.
    public init(
        root: String,
        flags: String?,
        schema: Schema = HabitSchema.current,
        queries: [QueryFile.Query] = []
    ) {
        self.root = root
        flagsPath = flags
        self.schema = schema
        self.queries = queries
    }

    /// Opens a user's store, after switching its engine if the flag file wants another one and the switch is safe.
    ///
    /// - Parameters:
    ///   - attributes: what targeting rules may ask about the user besides the id.
    ///   - progress: is told how far a switch has come.
    /// - Throws: what is wrong with the user's current store; nothing older is ever served instead.
    public func open(
        _ user: String,
        attributes: [String: FlagValue] = [:],
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> OpenedStore {
        let directory = try UserDirectory(root: root, user: user)
        try directory.make()
        let lock = try FileLock(path: directory.path + "/switch.lock", timeoutSeconds: 30)
        defer { withExtendedLifetime(lock) {} }
        try directory.claim()
        var notes: [String] = []
        let wanted = wantedEngine(user, attributes, &notes)
        let pair = UserStorePair(directory: directory, schema: schema)
        guard let current = try pair.openCurrent() else {
            let engine = wanted ?? Self.defaultEngine
            let store = try pair.createFirst(engine)
            return OpenedStore(store: store, user: user, engine: engine, wanted: wanted, notes: notes)
        }
        guard let wanted, wanted != current.engine else {
            return OpenedStore(store: current.store, user: user, engine: current.engine, wanted: wanted, notes: notes)
        }
        do {
            let switched = try pair.switchEngine(from: current, to: wanted, queries: queries, progress)
            current.store.close()
            if let unfinished = switched.unfinished {
                notes.append("the \(current.engine.rawValue) store is put on standby later: \(unfinished.description)")
            }
            notes.append(
                "switched from \(current.engine.rawValue) to \(wanted.rawValue), verified at token \(switched.token)"
            )
            return OpenedStore(store: switched.store, user: user, engine: wanted, wanted: wanted, notes: notes)
        } catch let error as HabitStoreError {
            notes.append("stays on \(current.engine.rawValue): \(error.description)")
            return OpenedStore(store: current.store, user: user, engine: current.engine, wanted: wanted, notes: notes)
        }
    }

    /// The two stores of a user as they are, for comparing; nothing is switched or written. The first is the current one.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` when the user has no stores, or only one.
    public func addresses(of user: String) throws -> (current: StoreAddress, other: StoreAddress) {
        let current = try currentAddress(of: user)
        let other = try UserDirectory(root: root, user: user).address(current.engine.other)
        guard FileManager.default.fileExists(atPath: other.path) else {
            throw HabitStoreError(
                .notFound,
                "this user has a \(current.engine.rawValue) store only; there is nothing to compare it with",
                at: .init(path: current.path)
            )
        }
        return (current, other)
    }

    /// The store that holds a user's current data; nothing is switched or written.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` when the user has no stores.
    public func currentAddress(of user: String) throws -> StoreAddress {
        let directory = try UserDirectory(root: root, user: user)
        let pair = UserStorePair(directory: directory, schema: schema)
        guard FileManager.default.fileExists(atPath: directory.path), let engine = try pair.currentEngine() else {
            throw HabitStoreError(
                .notFound,
                "this user has no stores under the root",
                at: .init(path: root),
                detail: user
            )
        }
        return directory.address(engine)
    }

    private func wantedEngine(
        _ user: String,
        _ attributes: [String: FlagValue],
        _ notes: inout [String]
    ) -> EngineName? {
        guard let flagsPath else { return nil }
        let snapshot: FlagSnapshot
        do {
            snapshot = try FlagSnapshot.load(path: flagsPath)
        } catch {
            notes.append("the flag file changes nothing: \(error)")
            return nil
        }
        let context = EvaluationContext(targetingKey: user, attributes: attributes)
        let resolution = snapshot.resolve(Self.backendFlag, context: context)
        if let error = resolution.errorCode {
            let reason = resolution.errorMessage ?? error.rawValue
            notes.append("the flag file changes nothing: \(Self.backendFlag): \(reason)")
            return nil
        }
        guard let value = resolution.value else { return nil }
        guard case .string(let name) = value, let engine = EngineName(rawValue: name) else {
            let names = EngineName.allCases.map(\.rawValue).joined(separator: " or ")
            notes.append("the flag file changes nothing: the value of \(Self.backendFlag) is no engine (\(names))")
            return nil
        }
        return engine
    }
}

/// A user's store, open, and how it came to be this one.
public struct OpenedStore: Sendable {
    /// The store.
    public let store: any UserStoreBackend
    /// The user.
    public let user: String
    /// Its engine.
    public let engine: EngineName
    /// The engine that the flag file wants; nil when it says nothing.
    public let wanted: EngineName?
    /// What an engineer should know: a switch that was made, or why one was not.
    public let notes: [String]
}
