import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import RolloutTesting
import ShadowVerifier
import Synchronization

@_spi(Engines) @testable import HabitStoreRollout

/// A user at `shadow` in whose stores a fault is planted. The stage is reached once for each pair of engines; each case gets a copy.
struct PlantedUser: Sendable {
    static let contents = PlantedContents()

    private static let templates = Mutex<[String: StagedUser]>([:])

    let staged: StagedUser

    /// - Parameter rollout: the user's old and new engines.
    init(_ rollout: RolloutUnderTest = .fromSQLite) throws {
        let template = try Self.template(rollout)
        staged = try rollout.user()
        try rollout.copyUsers(under: template.root, to: staged.root)
        try staged.want(Stage.shadow.rawValue)
    }

    /// A user between two engines that can have the fault.
    init(with fault: PlantedFault) throws {
        try self.init(fault.engine == .postgres ? PlantedServer.Direction.toServer.rollout.get() : .fromSQLite)
    }

    private static func template(_ rollout: RolloutUnderTest) throws -> StagedUser {
        try templates.withLock { made in
            if let made = made[rollout.description] { return made }
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            try contents.write(to: store)
            try user.bring(store, to: .shadow)
            store.close()
            made[rollout.description] = user
            return user
        }
    }

    func address(_ engine: EngineName) throws -> StoreAddress {
        try staged.address(engine == staged.old ? .old : .new)
    }

    /// Plants a fault while no process has the stores open.
    func plant(_ fault: PlantedFault) throws {
        guard case .file(let plant) = fault.deed else { return }
        try plant(try address(fault.engine).planter, Self.contents)
    }

    /// Opens one of the stores, with an engine that answers wrongly if that is the fault.
    private func open(
        _ address: StoreAddress,
        _ access: StoreAccess,
        _ schema: Schema,
        _ fault: PlantedFault?
    ) throws -> any UserStoreBackend {
        let store = try staged.engines.open(address, access, schema: schema)
        guard let fault, fault.engine == address.engine, case .answers(let misanswer) = fault.deed else { return store }
        return MisansweringStore(store, misanswer)
    }

    /// Compares both stores.
    func verify(
        _ fault: PlantedFault?,
        queries: [QueryFile.Query],
        depth: VerificationDepth = .full
    ) throws -> VerificationReport {
        let engines = [staged.old, staged.new]
        let stores = try engines.map { try open(try address($0), .readOnly, HabitSchema.current, fault) }
        defer { for store in stores { store.close() } }
        var options = VerificationOptions()
        options.depth = depth
        options.queries = queries
        options.tokenTries = 1
        options.reportsErrors = true
        let sides = zip(engines, stores).map { ShadowVerifier.Side(name: $0.rawValue, store: $1) }
        return try ShadowVerifier(sides[0], sides[1], options: options).run()
    }

    /// The user's store as an app opens it.
    func open(_ fault: PlantedFault?) throws -> UserStore {
        try staged.stores { options in
            options.shadowReads.queueLimit = .max
            options.shadowReads.recordEvery = .max
            options.opener = { address, access, schema in try open(address, access, schema, fault) }
        }.store(for: "alice")
    }
}
