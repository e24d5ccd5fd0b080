import Foundation
@_spi(Engines) import HabitStore

/// Opens two stores to compare them, even if they have different schema versions.
///
/// If versions differ, a store that does not have the plan's last version is copied, and the copy is migrated. What the stages' hooks change is
/// stamped as in the other store, if that was migrated the same way.
public struct VersionComparison {
    /// One of the two stores.
    public struct Side {
        /// The store, or the copy.
        public let store: any UserStoreBackend
        /// The version of the store before its copy was migrated; nil if it is the store itself.
        public let version: Schema.Version?
    }

    private let engines: Engines
    private let schema: Schema
    private let plan: (any SchemaMigrationPlan.Type)?
    private let directory: String

    /// - Parameters:
    ///   - schema: the app's schema.
    ///   - plan: what stores of older versions go through; nil to compare them unchanged.
    ///   - directory: where copies are made, which are removed again.
    public init(
        _ engines: Engines,
        schema: Schema,
        plan: (any SchemaMigrationPlan.Type)?,
        directory: String
    ) {
        (self.engines, self.schema, self.plan, self.directory) = (engines, schema, plan, directory)
    }

    /// Runs `body` with both stores.
    ///
    /// - Throws: errors of a store, and errors of the stages.
    public func run<R>(_ a: StoreAddress, _ b: StoreAddress, _ body: (Side, Side) throws -> R) throws -> R {
        let (left, right) = (try engines.outline(a), try engines.outline(b))
        let isAlike = left.version == right.version
        return try open(a, left, asWritten: isAlike, like: b) { a in
            try open(b, right, asWritten: isAlike, like: a.address) { b in try body(a.side, b.side) }
        }
    }

    private struct Opened {
        let side: Side
        let address: StoreAddress
    }

    private func open<R>(
        _ address: StoreAddress,
        _ outline: StoreOutline,
        asWritten: Bool,
        like other: StoreAddress,
        _ body: (Opened) throws -> R
    ) throws -> R {
        guard !asWritten, let plan, outline.version != (try plan.current().version) else {
            let store = try engines.openAsWritten(address, .readOnly, schema: schema, plan: plan)
            defer { store.close() }
            return try body(Opened(side: Side(store: store, version: nil), address: address))
        }
        return try ScratchFolder.with(in: directory, for: "comparison") { folder in
            let copy = engines.address(ofCopy: "comparison-\(UUID().uuidString)", of: address, inFolder: folder)
            let clock = try timestamp(behind: outline.information.token, in: other)
            let migrator = StoreMigrator(copy, engines: engines, plan: plan, now: { clock })
            var copies = [copy.path]
            defer { try? migrator.discard(copies) }
            let source = try engines.openAsWritten(address, .readOnly, schema: schema, plan: plan)
            defer { source.close() }
            try source.backup(to: copy.path)
            copies += try migrator.run().backups
            let store = try engines.open(copy, .readOnly, schema: try plan.current())
            defer { store.close() }
            return try body(Opened(side: Side(store: store, version: outline.version), address: copy))
        }
    }

    /// The time of the other store's transaction after a token; now if it has none.
    private func timestamp(behind token: HistoryToken, in other: StoreAddress) throws -> Date {
        let store = try engines.openAsWritten(other, .readOnly, schema: schema, plan: plan)
        defer { store.close() }
        let next = HistoryToken(rawValue: token.rawValue + 1)
        return try store.replicaRead { try Replication.transaction($0, next) }?.timestamp ?? Date()
    }
}
