import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier
import StandardEngines
import Synchronization

@_spi(Engines) @testable import HabitStoreRollout

/// A user at the stage `shadow` whose stores a fault is planted in. The stage is reached once; each case gets a copy.
struct PlantedUser: Sendable {
    static let contents = PlantedContents()

    private struct Template {
        let user: StagedUser
        let history: [HistoryTransaction]
    }

    private static let template = Mutex<Template?>(nil)

    let staged: StagedUser

    init() throws {
        let template = try Self.madeTemplate()
        staged = try StagedUser()
        try FileManager.default.copyItem(atPath: template.user.root, toPath: staged.root)
        try staged.want(Stage.shadow.rawValue)
    }

    /// The history that both stores have.
    static func history() throws -> [HistoryTransaction] { try madeTemplate().history }

    private static func madeTemplate() throws -> Template {
        try template.withLock { made in
            if let made { return made }
            let user = try StagedUser()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            try contents.write(to: store)
            let history = try store.read { try $0.fetchHistory(after: .zero) }
            try user.bring(store, to: .shadow)
            store.close()
            let template = Template(user: user, history: history)
            made = template
            return template
        }
    }

    func address(_ engine: EngineName) throws -> StoreAddress { try staged.directory.address(engine) }

    /// Plants a fault; nobody has the stores open.
    func plant(_ fault: PlantedFault) throws {
        guard case .file(let plant) = fault.deed else { return }
        try plant(try address(fault.engine).planter, Self.contents)
    }

    /// Opens one of the stores, with an engine that answers wrongly if that is the fault.
    static func open(
        _ address: StoreAddress,
        _ access: StoreAccess,
        _ schema: Schema,
        _ fault: PlantedFault?
    ) throws -> any UserStoreBackend {
        let store = try address.open(access, schema: schema)
        guard let fault, fault.engine == address.engine, case .answers(let misanswer) = fault.deed else { return store }
        return MisansweringStore(store, misanswer)
    }

    /// Compares both stores.
    func verify(
        _ fault: PlantedFault?,
        queries: [QueryFile.Query],
        depth: VerificationDepth = .full
    ) throws -> VerificationReport {
        let stores = try EngineName.standard.map {
            try Self.open(try address($0), .readOnly, HabitSchema.current, fault)
        }
        defer { for store in stores { store.close() } }
        var options = VerificationOptions()
        options.depth = depth
        options.queries = queries
        options.tokenTries = 1
        options.reportsErrors = true
        let sides = zip(EngineName.standard, stores).map { ShadowVerifier.Side(name: $0.rawValue, store: $1) }
        return try ShadowVerifier(sides[0], sides[1], options: options).run()
    }

    /// The user's store as an app gets it.
    func open(_ fault: PlantedFault?) throws -> UserStore {
        try staged.stores { options in
            options.shadowReads.queueLimit = .max
            options.shadowReads.recordEvery = .max
            options.opener = { address, access, schema in try Self.open(address, access, schema, fault) }
        }.store(for: "alice")
    }
}
