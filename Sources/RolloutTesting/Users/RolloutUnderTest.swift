@_spi(Engines) import HabitStore
import HabitStoreRollout

/// Two engines between which users are moved, for the checks of this kit.
public struct RolloutUnderTest: Sendable, CustomStringConvertible {
    /// The engine that users come from.
    public let old: any EngineProvider
    /// The engine that they go to.
    public let new: any EngineProvider
    private let templates = StageTemplates()

    /// Names the engines. A value that is kept, as a `static let` is, brings users to their stages once for all checks.
    public init(from old: any EngineProvider, to new: any EngineProvider) { (self.old, self.new) = (old, new) }

    /// `OLD to NEW`.
    public var description: String { "\(old.name) to \(new.name)" }

    /// The same two engines, the other way round.
    public var reversed: RolloutUnderTest { RolloutUnderTest(from: new, to: old) }

    /// Both, the old one first.
    var providers: [any EngineProvider] { [old, new] }

    /// Their names.
    package var pair: EnginePair { EnginePair(old: old.name, new: new.name) }

    /// A user of whom there is nothing yet.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for two engines of one name.
    package func user() throws -> StagedUser { try StagedUser(pair, try Engines(providers)) }

    /// A user who has come to a stage on the regular way.
    package func user(at stage: Stage) throws -> StagedUser {
        let user = try user()
        try templates.copy(stage, of: self, to: user)
        try user.want(stage.rawValue)
        return user
    }
}
